"""The message formats: bytes of one message to change events."""
