"""Convert DDL statements to schema changes. Retable reads the text of a statement and never executes it."""
