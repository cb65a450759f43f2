"""The second stage: decode a landed window to change events in silver. Messages that fail go to quarantine."""
