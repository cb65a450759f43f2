"""Verify gold against bronze (which is decoded and folded again) and against the ledger, and compare two states."""
