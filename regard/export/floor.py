"""What export adds to the registry: the kind of its formats."""

FOLDERS = {"exporter": "regard.export.exporters"}
"""Kinds of parts, and the folders of this room that hold some."""
