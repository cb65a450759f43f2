"""Recover a lake whose catalog was lost, or which was moved or copied to another storage location."""
