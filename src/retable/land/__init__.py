"""Keep everything, understand nothing: objects to bronze."""
