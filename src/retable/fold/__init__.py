"""Fold change events into the last state of each key. The code here does no I/O."""
