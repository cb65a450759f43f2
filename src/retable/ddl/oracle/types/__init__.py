"""Column types of Oracle: their gold types, and what a type change does to stored values."""
