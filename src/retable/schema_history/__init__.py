"""Build the histories of a source's tables from its DDL statements."""
