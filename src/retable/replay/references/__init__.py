"""Find rows of gold that a foreign key deleted or changed at the source without a message."""
