"""Read messages from objects (files in a folder or bucket): list the objects, and read and interpret their lines."""
