"""The studio: a local page in which one sees, edits and compares what models do.

The folder can be taken away: nothing else imports it.
"""

__all__: list[str] = []
