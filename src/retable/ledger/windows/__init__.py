"""Windows: which objects and positions each takes, recorded once."""
