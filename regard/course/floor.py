"""What the course adds to the registry: labs, which are a kind of its own, and commands; and letters for `describe`."""

FOLDERS = {"lab": "regard.course.lab", "command": "regard.course.commands"}
"""Kinds of parts, and the folders of the course that hold some."""
LETTERED = "regard.course.lettering.lettered"
"""What words a model in the notation of a lecture, for `regard describe --as`."""
