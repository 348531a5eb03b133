"""The words of the command line: remedies as options and commands."""

from __future__ import annotations

import shlex

from regard.errors import Option, Setting, ShellCommand
from regard.errors.remedies import OPEN, UNSET, flow


class CommandLine:
    """Remedies as a user types them in a shell."""

    between = " "
    options = {"run": "-o", "data.bad_rows": "--bad-rows"}
    """Options and settings with a name of their own."""

    def setting(self, one: Setting) -> str:
        if one.path in self.options:
            return f"{self.options[one.path]} {flow(one.value)}"
        if one.typed:
            return f"--set {one.typed}"
        if one.value is UNSET:
            return f"--set {one.path}"
        value = flow(one.value)
        quoted = any(sign in value for sign in " {}'\"")
        return f"--set {one.path}={shlex.quote(value) if quoted else value}"

    def option(self, one: Option) -> str:
        name = self.options.get(one.name, f"--{one.name.replace('_', '-')}")
        if one.value in (UNSET, OPEN, True):
            return name
        value = str(one.value)
        return f"{name} {value if '|' in value else shlex.quote(value)}"

    def command(self, one: ShellCommand) -> str:
        return one.shell()


COMMAND_LINE = CommandLine()
