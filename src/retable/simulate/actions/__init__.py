"""The actions of the shop and its people: rows, columns, keys, tables."""
