"""The command line: one thin module per command. Nothing here imports torch until a command runs."""

from regard.cli.command import Command
from regard.cli.main import main

__all__ = ["Command", "main"]
