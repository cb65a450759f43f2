"""The words of Retable. Standard library only; every other room speaks in these."""
