"""Primes on the symbols of a part: also of one whose functions and letters are its own."""

from __future__ import annotations

from regard.notation import primed


def test_a_function_that_no_line_defines_keeps_its_name() -> None:
    lines = ["j = 1 … S", "α_t = topk_j(e_tj)", "β_t = norm_{j: e_tj > τ}(e_tj, 2)"]
    assert primed(lines, 1) == [
        "j′ = 1 … S′",
        "α′_t = topk_j′(e′_tj′)",
        "β′_t = norm_{j′: e′_tj′ > τ′}(e′_tj′, 2)",
    ]


def test_a_function_of_the_part_is_renamed_and_what_is_local_to_it_is_not() -> None:
    lines = ["s_t = unit_y(s_{t−1}, x_t)", "unit_y(h, x) = f ⊙ h", "    f = σ(W_fy x + U_fy h)"]
    assert primed(lines, 2) == [
        "s′′_t = unit′′_y(s′′_{t−1}, x′′_t)",
        "unit′′_y(h, x) = f ⊙ h",
        "    f = σ(W′′_fy x + U′′_fy h)",
    ]


def test_symbols_of_others_labels_and_words_stay() -> None:
    lines = [
        "l ∈ {A, C}",
        "m_lj = E_l[w_j] + h_j + E_x[w_j]",
        "p(y) = softmax(V m_{A,j})     — h_j of a layer, a word",
    ]
    assert primed(lines, 1, ("h", "j", "E_x")) == [
        "l′ ∈ {A, C}",
        "m′_l′j = E′_l′[w′_j] + h_j + E_x[w′_j]",
        "p(y′) = softmax(V′ m′_{A,j})     — h_j of a layer, a word",
    ]
