"""Schemas of dumps and of databases, and what was imported before."""
