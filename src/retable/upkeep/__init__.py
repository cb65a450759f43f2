"""Keep tables small and fast to read: compact files, expire snapshots, apply retention and remove orphan files."""
