"""Reads schemas from dumps and from databases, and compares them with earlier imports."""
