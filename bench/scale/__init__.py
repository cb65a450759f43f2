"""The cost of a replay by the kind and number of its changes, each in a separate process."""
