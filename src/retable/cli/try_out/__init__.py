"""Commands without a lake."""
