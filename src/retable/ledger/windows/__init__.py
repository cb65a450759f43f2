"""Windows: the objects and positions of each, recorded once."""
