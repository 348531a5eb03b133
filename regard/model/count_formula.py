"""A number of parameters as a polynomial of sizes that the data will determine: `62,328 + 64 V(words) + V(tags)²`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

Term = tuple[str, ...]
"""The vocabularies whose sizes are multiplied, in order: ("tags", "tags") is V(tags)²."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class CountFormula:
    """terms   {the vocabularies of a term: its factor}; () is the constant"""

    terms: Mapping[Term, int] = field(default_factory=dict)

    @classmethod
    def constant(cls, count: int) -> CountFormula:
        return cls({(): count})

    def __add__(self, other: CountFormula) -> CountFormula:
        terms = Counter(self.terms)
        for term, factor in other.terms.items():
            terms[term] += factor
        return CountFormula(terms)

    def __mul__(self, other: CountFormula) -> CountFormula:
        terms: Counter[Term] = Counter()
        for one, factor in self.terms.items():
            for two, more in other.terms.items():
                terms[tuple(sorted((*one, *two)))] += factor * more
        return CountFormula(terms)

    def share(self, part: int, whole: int) -> CountFormula:
        """part / whole of it, for one of several equal slices of a tensor."""
        return CountFormula({term: factor * part // whole for term, factor in self.terms.items()})

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number for known sizes."""
        total = 0
        for term, factor in self.terms.items():
            for name in term:
                factor *= sizes[name]
            total += factor
        return total

    def written(self, order: Mapping[str, int]) -> str:
        """The constant, then the terms of each vocabulary in this order, squares and products last."""
        places = {name: place for place, name in enumerate(order)}
        terms = [term for term, factor in self.terms.items() if factor]
        terms.sort(key=lambda term: (len(term), [places[name] for name in term]))
        text = ""
        for term in terms or [()]:
            factor = self.terms.get(term, 0)
            sign = (" − " if factor < 0 else " + ") if text else "−" if factor < 0 else ""
            number = "" if term and abs(factor) == 1 else f"{abs(factor):,}"
            text += sign + " ".join(filter(None, (number, *map(_power, Counter(term).items()))))
        return text


def _power(factor: tuple[str, int]) -> str:
    name, times = factor
    return f"V({name})" + (str(times).translate(RAISED) if times > 1 else "")
