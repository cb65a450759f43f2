"""Replay tasks for big windows of a table: they profile, decide, and leave rows for each other on Spark's workers."""
