"""Big windows of a table where Spark's workers are: what they look at, decide and leave for one another."""
