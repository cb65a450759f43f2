"""Replays database change logs into Apache Iceberg tables. README.md describes the packages."""

import os

__version__ = "0.1.0"

# Arrow reads this variable when it is imported. With its own choice, mimalloc, a process keeps twice the memory.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
