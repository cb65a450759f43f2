"""The inputs of a replay: statements, rows, rules, and what was replayed before."""
