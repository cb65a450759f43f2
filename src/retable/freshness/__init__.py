"""Up to which source time a table is complete, the evidence for it, and what blocks it."""
