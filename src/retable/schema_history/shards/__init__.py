"""Join the histories of source tables that go into one gold table."""
