"""Shadows: gold tables that are built again next to gold from bronze, compared with gold, then promoted or dropped."""
