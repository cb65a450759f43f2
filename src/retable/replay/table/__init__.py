"""The replay of one table: decide what changes, and write it."""
