"""The message formats. Each decodes the bytes of one message to change events."""
