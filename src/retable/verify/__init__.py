"""Verify gold against bronze (raw messages, decoded and folded again) and against the ledger; compare two states."""
