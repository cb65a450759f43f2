"""Commands that begin a source and run it."""
