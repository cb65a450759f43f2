"""Text of a source to a value of gold: how values are encoded, by type."""
