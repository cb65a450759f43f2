"""The settings file: a user's decisions about a lake, its sources and tables, read and checked."""
