"""Up to which source time a table is complete, what proves it, and what stands in the way."""
