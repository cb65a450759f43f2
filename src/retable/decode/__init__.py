"""The second stage: a landed window becomes change events in silver, or goes to quarantine."""
