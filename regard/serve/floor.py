"""What the server adds to the registry: its commands."""

FOLDERS = {"command": "regard.serve.commands"}
"""Kinds of parts, and the folders of the server that hold some."""
