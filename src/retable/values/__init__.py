"""Convert the raw values of messages to values of gold, by the encoding and the gold type of the column."""
