"""Types of Oracle: in gold, and what a change of type does to values."""
