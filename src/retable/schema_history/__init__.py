"""What statements made of the tables of a source: their histories."""
