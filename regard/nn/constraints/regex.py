"""A regular expression that describes the whole output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from regard.errors import RegardError
from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.nn.constraints.expressions import read_expression
from regard.nn.constraints.network import NetworkAutomaton, RuleNetwork
from regard.parts import register


@register("constraint", "regex")
class RegexConstraint(Constraint):
    """The output matches a regular expression from its first character to its last."""

    class Options(Constraint.Options):
        r"""A regular expression that describes the whole output: `[a-z]+ \d{2,4}`."""

        model_config = ConfigDict(str_strip_whitespace=False)

        pattern: Annotated[str, Field(min_length=1)] = ".*"
        """The expression, in the notation of Python's `re`, without anchors, references back and looks ahead."""

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        network = RuleNetwork()
        network.add("", read_expression(self.options.pattern, "regex"))
        return [NetworkAutomaton(network, "", depth=0, where="regex")]

    @classmethod
    def described(cls, options: Any) -> str:
        return f"matches {options.pattern!r}"

    @classmethod
    def refused(cls, options: Any) -> str:
        try:
            read_expression(options.pattern, "regex")
        except RegardError as error:
            return f"{error.what} {error.fix}".strip()
        return ""
