"""Tables of the source that go into one of gold: their histories together."""
