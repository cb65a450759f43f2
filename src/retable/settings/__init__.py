"""The settings file: what a user decides of a lake, its sources and tables, read and checked."""
