"""The types and terms of Retable, which all other packages use. Standard library only."""
