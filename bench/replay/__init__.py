"""What a replay costs: Retable, and others, on the same changes of the same tables."""
