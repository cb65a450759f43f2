"""Which events a table is decided by, of its window and of others, and by which pieces they are folded."""
