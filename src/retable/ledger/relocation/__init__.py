"""Rewrite addresses inside Iceberg's metadata, in place, after a lake was moved."""
