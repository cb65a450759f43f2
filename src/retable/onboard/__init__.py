"""How tables come to a lake before their changes do: schemas out of dumps and databases, rows out of full copies."""
