"""What the course adds to the registry: labs, which are a kind of its own, commands and notations."""

FOLDERS = {
    "lab": "regard.course.lab",
    "command": "regard.course.commands",
    "notation": "regard.course.notations",
}
"""Kinds of parts, and the folders of the course that hold some."""
