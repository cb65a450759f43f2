"""The lake: its catalog, its files, its identity, and the meaning of their errors."""
