"""Brings tables into a lake before their changes: schemas from dumps and databases, rows from full copies."""
