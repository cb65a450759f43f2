"""Tables that start from a full copy."""
