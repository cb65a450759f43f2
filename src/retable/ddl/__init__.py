"""Convert the text of DDL statements to schema changes of tables. Retable never executes a statement."""
