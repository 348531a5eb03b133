r"""A grammar of the whole output.

One rule in each line; the first is that of an output. A rule is made of texts in quotes, regular expressions between
slashes, names of rules, ( ) | * + ? and {2,5}. A line that begins with white space continues the one before; # begins a
comment. Spaces between parts of a rule mean nothing: write " " for a space in the output.

    sum: value (" + " value)*
    value: /[0-9]+/ | "(" sum ")"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from regard.errors import RegardError
from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.nn.constraints.expressions import Expression, ExpressionReader, RuleCall, literal
from regard.nn.constraints.network import NetworkAutomaton, RuleNetwork, called, check_rules
from regard.parts import nearest, register

RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*:(.*)", re.DOTALL)
NAME = re.compile(r"[A-Za-z_][\w-]*")


class RuleReader(ExpressionReader):
    """Reads the right side of a rule: as an expression, of texts, expressions and names."""

    def peek(self) -> str:
        while (sign := self.text[self.at : self.at + 1]).isspace() or sign == "#":
            end = self.text.find("\n", self.at) if sign == "#" else self.at + 1
            self.at = len(self.text) if end < 0 else end
        return super().peek()

    def one(self) -> Expression:
        sign = self.peek()
        if sign == "(":
            self.at += 1
            return self.group()
        if sign in "\"'":
            return literal(self._until(sign).replace("\\" + sign, sign).replace("\\\\", "\\"))
        if sign == "/":
            return ExpressionReader(self._until(sign).replace("\\/", "/"), self.where).whole()
        name = NAME.match(self.text, self.at)
        if name is None:
            raise self.fault(f"{sign!r} is neither a text in quotes nor the name of a rule")
        self.at = name.end()
        return RuleCall(name[0])

    def _until(self, sign: str) -> str:
        start = self.at = self.at + 1
        while self.at < len(self.text) and self.text[self.at] != sign:
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            raise self.fault(f"a {sign} is not closed")
        self.at += 1
        return self.text[start : self.at - 1]


def read_rules(text: str) -> dict[str, Expression]:
    """The rules of a grammar, by name."""
    found: dict[str, Expression] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0].isspace() and lines and not RULE.match(line):
            lines[-1] = lines[-1][0], f"{lines[-1][1]}\n{line}"
        else:
            lines.append((number, line))
    for number, line in lines:
        where, match = f"grammar, line {number}", RULE.match(line)
        if match is None:
            raise RegardError(
                f"received {line.strip()!r}, expected a rule.",
                where=where,
                fix='For example  answer: "yes" | "no"',
            )
        if match[1] in found:
            raise RegardError(f"there are two rules {match[1]!r}.", where=where, fix="Join them with |.")
        found[match[1]] = RuleReader(match[2], where).whole()
    if not found:
        raise RegardError("it has no rule.", where="grammar", fix='For example  answer: "yes" | "no"')
    for name, one in found.items():
        for other in sorted(called(one)):
            if other not in found:
                raise RegardError(
                    f"the rule {name!r} names {other!r}, and there is no such rule.",
                    where="grammar",
                    fix=nearest(other, list(found)),
                )
    check_rules(found, "grammar")
    return found


@register("constraint", "grammar")
class GrammarConstraint(Constraint):
    """The output is a text of a context-free grammar, with rules nested in each other up to a depth."""

    class Options(Constraint.Options):
        r"""A grammar of the whole output: a rule in each line, `sum: value (" + " value)*`, the first for an output."""

        model_config = ConfigDict(str_strip_whitespace=False)

        rules: Annotated[str, Field(min_length=1)] = 'answer: "yes" | "no"'
        """The rules: texts in quotes, regular expressions between slashes, names of rules, `( ) | * + ?`."""
        depth: Annotated[int, Field(ge=1, le=64)] = 6
        """How deeply rules may be nested. A rule that calls itself at its end needs no depth."""

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        rules, network = read_rules(self.options.rules), RuleNetwork()
        for name, one in rules.items():
            network.add(name, one)
        return [NetworkAutomaton(network, next(iter(rules)), depth=self.options.depth, where="grammar")]

    @classmethod
    def described(cls, options: Any) -> str:
        return f"follows the grammar of {next(iter(read_rules(options.rules)))!r}"

    @classmethod
    def refused(cls, options: Any) -> str:
        try:
            read_rules(options.rules)
        except RegardError as error:
            return f"{error.what} {error.fix}".strip()
        return ""
