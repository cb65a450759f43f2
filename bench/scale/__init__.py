"""Measure a replay by the kind and the number of its changes, each in a separate process."""
