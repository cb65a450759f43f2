"""Convert raw values (values as a message writes them) to values of gold, by a column's encoding and gold type."""
