"""The third stage: a decoded window becomes rows of gold."""
