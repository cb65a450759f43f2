"""Read the rows of a window, and find rows of gold, in the files of the lake: in the driver or in tasks."""
