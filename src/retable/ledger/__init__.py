"""The record of what was done: windows, positions, counts, consistent cuts. It uses pyiceberg, without a JVM."""
