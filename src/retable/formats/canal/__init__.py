"""Messages of Canal, and of DTS in Canal's format."""
