"""The gold tables in Iceberg: how their rows and columns are written."""
