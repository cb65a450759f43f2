"""Windows: assign the objects and positions of a source to windows, and record each window once."""
