"""Find the events of all windows that a table's result depends on, and divide them into shares by key."""
