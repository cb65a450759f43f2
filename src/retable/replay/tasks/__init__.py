"""Replay tasks for big windows of a table. They run on Spark's workers, and pass rows to each other in an exchange."""
