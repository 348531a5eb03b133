"""Mistakes of users as data: what is wrong, where, and the remedy.

Each front end words them: Python (`str(error)`), the command line (`regard.cli.command.CommandLine`).
"""

from regard.errors.error import MissingExtra, RegardError
from regard.errors.remedies import (
    FILE,
    NAME,
    OPEN,
    PYTHON,
    Front,
    Message,
    Option,
    Placeholder,
    Remedy,
    Setting,
    ShellCommand,
    Together,
    Words,
    said,
)

__all__ = [
    "FILE",
    "NAME",
    "OPEN",
    "PYTHON",
    "Front",
    "Message",
    "MissingExtra",
    "Option",
    "Placeholder",
    "RegardError",
    "Remedy",
    "Setting",
    "ShellCommand",
    "Together",
    "Words",
    "said",
]
