"""Write the rows and columns of gold tables in Iceberg."""
