"""What the shop and its people do: rows, columns, keys, tables."""
