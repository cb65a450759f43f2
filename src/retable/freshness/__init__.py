"""Computes up to which source time a table is complete (its watermark), the evidence for it, and what blocks it."""
