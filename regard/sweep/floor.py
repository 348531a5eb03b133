"""What sweeps add to the registry: their command."""

FOLDERS = {"command": "regard.sweep.commands"}
"""Kinds of parts, and the folders of this room that hold some."""
