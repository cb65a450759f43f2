"""The Iceberg tables of gold: their state, names and columns, and how they are read and written."""
