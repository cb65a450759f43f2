"""The third stage, after land and decode: replay the change events of a window into gold, the Iceberg result tables."""
