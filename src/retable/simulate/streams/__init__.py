"""The shop's history as each format writes it."""
