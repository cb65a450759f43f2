"""What was done: windows, positions, counts, cuts; written and read through pyiceberg, without a JVM."""
