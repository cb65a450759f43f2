"""The replay of one table: decide what changes in gold, and write the changes."""
