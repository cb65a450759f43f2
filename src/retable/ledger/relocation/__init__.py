"""A lake that lies elsewhere now: addresses inside Iceberg's metadata, rewritten in place."""
