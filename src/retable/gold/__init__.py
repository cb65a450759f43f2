"""Read and write the Iceberg tables of gold, and keep their state, names and columns."""
