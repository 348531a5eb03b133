"""The command `regard sweep`."""
