"""What the course adds to the registry: labs, which are a kind of its own, and commands."""

FOLDERS = {"lab": "regard.course.lab", "command": "regard.course.commands"}
"""Kinds of parts, and the folders of the course that hold some."""
