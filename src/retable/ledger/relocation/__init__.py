"""Rewrite the addresses of files in Iceberg's metadata, in place, after a lake was moved or copied."""
