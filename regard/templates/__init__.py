"""One template per kind of part, for `regard new`."""

from regard.templates.writing import write_part

__all__ = ["write_part"]
