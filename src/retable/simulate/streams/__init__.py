"""Writes the history of the simulated shop as messages, with one module for each message format."""
