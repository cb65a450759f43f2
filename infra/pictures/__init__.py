"""Draws the pictures of docs/concepts as SVG. `make docs` calls it, and a test compares them."""
