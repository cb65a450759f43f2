"""Keep tables small and quick to read: few files, few deleted rows, no more history than is needed."""
