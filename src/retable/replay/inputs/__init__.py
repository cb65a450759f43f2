"""What a replay goes by: statements, rows, rules, and what was replayed before."""
