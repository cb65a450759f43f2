"""Gold, the Iceberg tables with the result: read and write their rows, and keep their state, names and columns."""
