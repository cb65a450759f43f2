"""A lake whose catalog was lost, or which stands at another place than before."""
