"""Reads and checks the settings file, which describes a lake, its sources and its tables."""
