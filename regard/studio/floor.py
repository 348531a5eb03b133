"""What the studio adds to the registry: its command."""

FOLDERS = {"command": "regard.studio.commands"}
"""Kinds of parts, and the folders of the studio that hold some."""
