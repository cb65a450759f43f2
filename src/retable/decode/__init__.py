"""Bytes to change events: one file per format, and the values that their images hold."""
