"""The lake itself: its catalog, its files, who it says it is, and what their errors mean."""
