"""The Iceberg tables of gold: their state, names and columns, and how to read and write them."""
