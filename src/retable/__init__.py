"""Replays database change logs into Apache Iceberg tables. The rooms are drawn in README.md."""

__version__ = "0.1.0"
