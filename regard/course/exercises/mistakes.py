"""Infer from its mistakes which algorithm a network has learned."""

from __future__ import annotations

import random
from collections.abc import Callable

from regard.course.exercises.exercise import Answer, Exercise, GradedQuestion, Unanswered, Wrong

Pairs = list[tuple[int, int]]


def _first(a: int, b: int) -> int:
    """Add digit by digit, without carrying."""
    return int("".join(str((int(x) + int(y)) % 10) for x, y in zip(f"{a:04d}", f"{b:04d}", strict=True)))


def _second(a: int, b: int) -> int:
    """The last two digits are those of the second number, the others those of the true sum."""
    total = f"{a + b}"
    return int(total[:-2] + f"{b:04d}"[-2:])


def _third(a: int, b: int) -> int:
    """A carry moves one place and no further: a digit that it makes overflow becomes 0 without carrying."""
    out, carry = [], 0
    for x, y in zip(reversed(f"{a:04d}"), reversed(f"{b:04d}"), strict=True):
        total = int(x) + int(y)
        out.append(str((total + carry) % 10))
        carry = int(total > 9)
    return int((str(carry) if carry else "") + "".join(reversed(out)))


def _pairs(count: int, seed: int) -> Pairs:
    draw = random.Random(seed)
    return [(draw.randint(1000, 9999), draw.randint(1000, 9999)) for _ in range(count)]


def _shown(algorithm: Callable[[int, int], int], seed: int) -> str:
    rows = [(a, b, a + b, algorithm(a, b)) for a, b in _pairs(400, seed)]
    wrong, right = (
        [row for row in rows if row[2] != row[3]][:9],
        [row for row in rows if row[2] == row[3]][:3],
    )
    lines = [f"#     {a} + {b} = {total:<8}{said:>6}" for a, b, total, said in [*wrong, *right]]
    return "\n".join(lines)


TEMPLATE = f'''"""Three networks have learned to add numbers of four digits, and make mistakes. What does each compute?

The networks of the lecture answered 5101, 5101, 5249 and 5229 for 5997 - 738 = 5259: which digits do they get right?
Here the mistakes are regular. Write each algorithm so that it gives the network's answer, right or wrong, for any two
numbers from 1000 to 9999.

Then:  regard exercise mistakes THIS_FILE.py
"""


# The first network:
#     sum                  answer
{_shown(_first, 1)}
def first(a, b):
    ...


# The second network:
#     sum                  answer
{_shown(_second, 2)}
def second(a, b):
    ...


# The third network:
#     sum                  answer
{_shown(_third, 3)}
def third(a, b):
    ...
'''


def _check(name: str, algorithm: Callable[[int, int], int], seed: int) -> Callable[[Answer], None]:
    def check(answer: Answer) -> None:
        for a, b in _pairs(300, 100 + seed):
            found = getattr(answer, name)(a, b)
            if found is None or found is Ellipsis:
                raise Unanswered(f"{name}(a, b)")
            if isinstance(found, bool) or not isinstance(found, int):
                raise Wrong(f"{name}({a}, {b}) is a {type(found).__name__}; expected a whole number.")
            if found != algorithm(a, b):
                raise Wrong(f"for {a} + {b} the network answers {algorithm(a, b)}; {name} says {found}.")

    return check


EXERCISE = Exercise(
    name="mistakes",
    title="Guess the algorithm from the mistakes",
    entries=("000.28",),
    task="What a network answers where it is wrong tells how it computes. Three networks add numbers of four digits; "
    "find the algorithm of each from its mistakes.",
    template=TEMPLATE,
    questions=(
        GradedQuestion(
            "first gives the first network's answers",
            ("first",),
            _check("first", _first, 1),
            "Look at each digit alone. In which sums is a digit wrong, and by how much?",
        ),
        GradedQuestion(
            "second gives the second network's answers",
            ("second",),
            _check("second", _second, 2),
            "The leading digits are right. Where do the last two come from?",
        ),
        GradedQuestion(
            "third gives the third network's answers",
            ("third",),
            _check("third", _third, 3),
            "Most carries are there. Which sums need a carry that was itself made by a carry?",
        ),
    ),
)
