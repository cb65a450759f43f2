"""Which events a table is decided by, of its window and of others, and in which shares they are folded."""
