"""Upgrade the lake of an older Retable to the present layout."""
