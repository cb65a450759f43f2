"""Measure a replay: Retable and other methods apply the same changes to the same tables."""
