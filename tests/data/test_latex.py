"""LaTeX tokenization: hand-made examples, and idempotence."""

from __future__ import annotations

import pytest

from regard.data.readers.latex import latex_tokens


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("x^2", "x ^ { 2 }"),
        ("ds^{2} = 1\\label{eq:sps1}", "d s ^ { 2 } = 1"),
        ("x^2_i", "x _ { i } ^ { 2 }"),
        ("x_i^{2}_j", "x _ { i } ^ { 2 } _ { j }"),
        (r"{a\over b}c", r"\frac { a } { b } c"),
        (r"a \over b+1", r"\frac { a } { b + 1 }"),
        (
            r"({2\over 1+\alpha^{2}})^{x\over y}",
            r"( \frac { 2 } { 1 + \alpha ^ { 2 } } ) ^ { \frac { x } { y } }",
        ),
        (r"\frac12", r"\frac { 1 } { 2 }"),
        (r"\dfrac ab", r"\frac { a } { b }"),
        (r"\left.\{ x \right] \, \nonumber", r"\left . \{ x \right ] \,"),
        ("a % a remark", "a"),
        ("%y^2 = 1%", "y ^ { 2 } = 1"),
        (r"50\% of", r"5 0 \% o f"),
        ("{ { a } }", "{ { a } }"),
        ("a } b {", "a } b {"),
        ("x ^", "x ^"),
        (r"\operatorname*{lim}", r"\operatorname* { l i m }"),
        ("", ""),
    ],
)
def test_tokens_of_a_formula(written: str, tokens: str) -> None:
    assert latex_tokens(written) == tokens
    assert latex_tokens(tokens) == tokens
