"""Text of a source to a value of gold: the encodings of values, by type."""
