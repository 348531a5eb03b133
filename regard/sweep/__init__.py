"""Searches over settings: trials that are runs, in one study. The folder can be taken away."""
