"""Commands that set up a source and run it."""
