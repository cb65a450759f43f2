"""What a replay costs by the kind of its changes and their number, each in a process of its own."""
