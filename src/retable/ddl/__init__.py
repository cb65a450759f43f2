"""Convert DDL statements to schema changes. The statement's text is read and never executed."""
