"""Commands that show gold and how far it is."""
