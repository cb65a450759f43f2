"""Tables rebuilt next to gold, from bronze as it would be decoded today: built, compared, then promoted or dropped."""
