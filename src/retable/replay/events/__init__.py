"""Find the events that a table's result depends on, in its window and in others, and divide them into shares."""
