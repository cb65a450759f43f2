"""Messages in files and buckets: objects, their lines, and what a line is."""
