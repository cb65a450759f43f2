"""Schemas of dumps and of databases, and earlier imports."""
