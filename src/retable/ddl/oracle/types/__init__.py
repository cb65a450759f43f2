"""Types of Oracle: their gold types, and the effect of a type change on values."""
