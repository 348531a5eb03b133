"""Mistakes of users as data: what is wrong, where, and the remedy.

Each front end words them: Python (`str(error)`), the command line (`regard.cli.wording`).
"""

from regard.errors.error import MissingExtra, RegardError
from regard.errors.remedies import (
    FILE,
    NAME,
    OPEN,
    PYTHON,
    Command,
    Front,
    Option,
    Placeholder,
    Remedy,
    Setting,
    Text,
    Together,
    Words,
    said,
)

__all__ = [
    "FILE",
    "NAME",
    "OPEN",
    "PYTHON",
    "Command",
    "Front",
    "MissingExtra",
    "Option",
    "Placeholder",
    "RegardError",
    "Remedy",
    "Setting",
    "Text",
    "Together",
    "Words",
    "said",
]
