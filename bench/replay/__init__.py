"""The cost of a replay: Retable, and others, on the same changes of the same tables."""
