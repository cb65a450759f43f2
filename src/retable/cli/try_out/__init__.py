"""Commands that need no lake and no Spark."""
