"""The grammar of the notation: from a line of text to a syntax tree."""

from __future__ import annotations

from collections.abc import Container

from regard.notation.nodes import (
    Call,
    Concatenation,
    Condition,
    Equation,
    Item,
    Node,
    Number,
    Operation,
    Range,
    Reduction,
    Several,
    Single,
    Symbol,
)
from regard.notation.tokens import NotationError, Token, items_of, refuse, tokens

COMPARISONS = ("=", "≠", "<", "≤", ">", "≥")
NUMBERS = ("Σ", "max", "min", "argmax", "argmin", "mean", "sparsemap")
"""What gives one value for all values of an index; other functions over an index give one for each."""
OVER = ("softmax", "sparsemax", "entmax", "max", "min", "argmax", "argmin", "mean", "sparsemap")
"""The functions of the notation that range over the index in their subscript: softmax_j(e_tj)."""


class Parser:
    """Parser of one line. Each method parses the construct it is named after and leaves `place` after it.

    functions   those that the board defines; another one with an index below, such as topk_j, ranges over it
    """

    def __init__(self, line: str, functions: Container[str] | None = None) -> None:
        self.line, self.tokens, self.place = line, tokens(line), 0
        self.functions = functions

    @property
    def now(self) -> Token:
        return self.tokens[self.place]

    def take(self, *kinds: str) -> Token:
        token = self.now
        if token.kind not in kinds:
            refuse(self.line, token.place, f"expected {' or '.join(kinds)}, received {token.text}")
        self.place += 1
        return token

    def at(self, *kinds: str) -> bool:
        return self.now.kind in kinds

    def line_of_text(self) -> list[Range] | Equation:
        """The ranges of a line, or its equation."""
        start = self.place
        if self.at("name"):
            self.take("name")
            if self.at("∈"):
                return self.ranges(start)
            if self.at("="):
                self.take("=")
                self.expression()
                if self.at("…"):
                    return self.ranges(start)
        self.place = start
        return self.equation()

    def ranges(self, start: int) -> list[Range]:
        self.place = start
        found = [self.one_range()]
        while self.at(","):
            self.take(",")
            found.append(self.one_range())
        self.take("end")
        return found

    def one_range(self) -> Range:
        letter = self.take("name").text
        if self.take("=", "∈").kind == "=":
            first = self.expression()
            self.take("…")
            return Range(letter, (first, self.expression()))
        if self.at("name"):
            trees = self.take("name").text
            self.take("(")
            count = self.expression()
            self.take(")")
            return Range(letter, trees=(trees, count))
        self.take("{")
        values, listed = [self.item()], True
        while self.at(",", "…"):
            listed = self.take(",", "…").kind == ","
            values.append(self.item())
        self.take("}")
        power = self.power() if self.at("^") else None
        return Range(letter, tuple(values), listed, power)

    def power(self) -> Node:
        self.take("^")
        return self.factor()

    def equation(self) -> Equation:
        targets = [self.factor()]
        while self.at(","):
            self.take(",")
            targets.append(self.factor())
        for target in targets:
            if not isinstance(target, (Symbol, Call)):
                refuse(self.line, 0, "an equation must begin with the symbol that it defines")
        self.take("=")
        body = self.expression()
        conditions: list[Condition] = []
        if self.at("name") and self.now.text == "for":
            self.take("name")
            conditions = self.conditions()
        self.take("end")
        return Equation(tuple(targets), body, tuple(conditions), self.line.strip())

    def conditions(self) -> list[Condition]:
        """`j > 1, k ≠ j`; `t = 2 … T` is 2 ≤ t ≤ T."""
        found: list[Condition] = []
        while not found or self.at(","):
            if found:
                self.take(",")
            first = self.expression()
            condition = self.comparison(first)
            if self.at("…"):
                self.take("…")
                low, high = condition.rest[0][1], self.expression()
                condition = Condition(low, (("≤", first), ("≤", high)))
            found.append(condition)
        return found

    def comparison(self, first: Node) -> Condition:
        rest = [(self.take(*COMPARISONS).kind, self.expression())]
        while self.at(*COMPARISONS):
            rest.append((self.take(*COMPARISONS).kind, self.expression()))
        return Condition(first, tuple(rest))

    def expression(self) -> Node:
        """Terms joined by + and −."""
        negative = self.at("−")
        if negative:
            self.take("−")
        found = self.term()
        found = Single("−", found) if negative else found
        while self.at("+", "−"):
            found = Operation(self.take("+", "−").kind, found, self.term())
        return found

    def term(self) -> Node:
        """Products joined by · ⊙ * ⋆ /, from left to right."""
        found = self.product()
        while self.at("·", "⊙", "*", "⋆", "/"):
            sign = self.take("·", "⊙", "*", "⋆", "/")
            start = self.place
            right = self.product()
            if sign.kind == "/" and self._factors(start) > 1:
                refuse(self.line, sign.place, "the denominator must be one factor: put it in parentheses")
            found = Operation(sign.kind, found, right)
        return found

    def _factors(self, start: int) -> int:
        """The number of juxtaposed factors of the product that begins at a token and has just been read."""
        end, self.place, count = self.place, start, 0
        while self.place < end:
            self.factor()
            count += 1
        return count

    def product(self) -> Node:
        """Juxtaposed factors: W U x is W (U x)."""
        first = self.factor()
        begins = self.at("number", "name", "(", "[", "√", "Σ") and self.now.text != "for"
        return Operation("times", first, self.product()) if begins else first

    def factor(self) -> Node:
        found = self.primary()
        while True:
            if self.at("²"):
                self.take("²")
                found = Single("²", found)
            elif self.at("↓"):
                self.take("↓")
                if self.take("number").text != "2":
                    refuse(self.line, self.now.place, "the only stride is ↓2")
                found = Single("↓", found)
            elif self.at("[") and not self.now.spaced:
                self.take("[")
                found = Item(found, tuple(self.listed("]")))
            else:
                return found

    def listed(self, closing: str, first: Node = None) -> list[Node]:
        found = [self.expression() if first is None else first]
        while self.at(","):
            self.take(",")
            found.append(self.expression())
        self.take(closing)
        return found

    def primary(self) -> Node:
        token = self.take("number", "name", "(", "[", "|", "√", "Σ")
        if token.kind == "number" and self.at("subscript", "_{"):
            return Symbol(token.text, self.items())  # 0_D, a vector of D zeros
        if token.kind == "number":
            return Number(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "(":
            parts = self.listed(")")
            return parts[0] if len(parts) == 1 else Several(tuple(parts))
        if token.kind == "[":
            return self.brackets()
        if token.kind == "|":
            inside = self.expression()
            self.take("|")
            return Single("|", inside)
        if token.kind == "√":
            return Single("√", self.factor())
        if token.kind == "Σ":
            index, conditions = self.below()
            return Reduction("Σ", index, conditions, self.term())
        return self.named(token)

    def named(self, token: Token) -> Node:
        if self.at("subscript", "_{") and (token.text in OVER or self.ranges_over(token)):
            index, conditions = self.below()
            self.take("(")
            body, degree = self.expression(), None
            if self.at(","):
                self.take(",")
                degree = self.expression()
            self.take(")")
            return Reduction(token.text, index, conditions, body, degree)
        items = self.items()
        if self.at("(") and not self.now.spaced:
            self.take("(")
            return Call(token.text, items, tuple(self.listed(")")))
        return Symbol(token.text, items)

    def ranges_over(self, function: Token) -> bool:
        """Whether an unknown function is called with one index below it."""
        if self.functions is None or function.text in self.functions or function.text == "p":
            return False
        start = self.place
        try:
            self.below()
        except NotationError:
            return False
        else:
            return self.at("(") and not self.now.spaced
        finally:
            self.place = start

    def items(self) -> tuple[Node, ...]:
        """The subscripts of a name: letters and numbers one by one, or expressions in braces."""
        if self.at("subscript"):
            return split(self.take("subscript").text[1:])
        if not self.at("_{"):
            return ()
        self.take("_{")
        found = [self.item()]
        while self.at(","):
            self.take(",")
            found.append(self.item())
        if self.at(":"):
            refuse(self.line, self.now.place, f"only Σ, {', '.join(OVER)} take a condition")
        self.take("}")
        return tuple(found)

    def item(self) -> Node:
        return Symbol(self.take("arrow").text) if self.at("arrow") else self.expression()

    def below(self) -> tuple[str, tuple[Condition, ...]]:
        """The index of a Σ or softmax, and its conditions: `_j`, `_{j: j ≠ k}`, `_{j<S}`."""
        if self.at("subscript"):
            token = self.take("subscript")
            if len(split(token.text[1:])) > 1:
                refuse(self.line, token.place, "expected one index")
            return token.text[1:], ()
        self.take("_{")
        index = self.take("name").text
        if self.at(":"):
            self.take(":")
            conditions = self.conditions()
        else:
            conditions = [self.comparison(Symbol(index))]
        self.take("}")
        return index, tuple(conditions)

    def brackets(self) -> Node:
        """`[a; b]`, `[a; …; b]`, or `[a ≤ b]`."""
        first = self.expression()
        if self.at(*COMPARISONS):
            condition = self.comparison(first)
            self.take("]")
            return condition
        parts: list[Node | None] = [first]
        while self.at(";"):
            self.take(";")
            parts.append(None if self.at("…") else self.expression())
            if parts[-1] is None:
                self.take("…")
        self.take("]")
        return Concatenation(tuple(parts))


def split(run: str) -> tuple[Node, ...]:
    """`r1→` → r, 1, →."""
    return tuple(Number(int(item)) if item.isdigit() else Symbol(item) for item in items_of(run))
