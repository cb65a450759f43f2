"""Replays database change logs into Apache Iceberg tables. README.md describes the packages."""

__version__ = "0.1.0"
