"""Process many rows of one table at a time, column by column."""
