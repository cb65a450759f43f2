"""The third stage: replay a decoded window into rows of gold."""
