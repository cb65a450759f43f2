"""The replay of one table: what is decided, and written."""
