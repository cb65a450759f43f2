"""Commands that look at gold and at how far it is."""
