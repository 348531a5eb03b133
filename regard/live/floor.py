"""What this room adds when drawings are loaded: the live view of predictions and traces."""

FOLDERS = {"drawing": "regard.live.exploring"}
"""A kind of parts, and the folder that is loaded with them."""
