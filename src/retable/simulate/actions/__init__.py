"""The actions that the simulated shop can do: changes of rows, columns, keys and tables."""
