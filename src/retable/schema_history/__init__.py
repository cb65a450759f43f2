"""The histories of a source's tables, made from its statements."""
