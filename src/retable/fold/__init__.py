"""Change events folded to the last state of every key: pure."""
