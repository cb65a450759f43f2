"""Messages in files and buckets: the objects, their lines, and the layout of a line."""
