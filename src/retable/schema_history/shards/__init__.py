"""Join the histories of several source tables (shards) whose rows go into one gold table."""
