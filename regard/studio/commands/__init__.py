"""The command `regard studio`."""
