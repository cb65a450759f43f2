"""Starts a gold table from a full copy (a baseline)."""
