"""The only room that changes gold: expand, write on a branch, contract in one transaction."""
