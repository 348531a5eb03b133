"""Checks of the parts of a layer: cells, composers, scores and selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.nn.selections import Given
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.testing.lettering import check_equations, check_lines
from regard.testing.modules import check_module
from regard.testing.report import PartReport, Stop

INPUT, SIZE, ROWS = 3, 4, 2


def numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator) * 0.7


def check_cell(report: PartReport, options: Any) -> None:
    with report.calling("build", "a cell"):
        cell = options.part.build(options, INPUT, SIZE)
    inputs, state = numbers(ROWS, INPUT), numbers(ROWS, cell.state_size, seed=1)
    wanted = SIZE * cell.states
    report.is_true("state_size", cell.state_size == wanted, f"{wanted} features", cell.state_size)
    found: Tensor | None = None
    with report.apart():
        found = _advanced(report, cell, inputs, state)
    check_module(
        report,
        "advance",
        lambda: options.part.build(options, INPUT, SIZE),
        lambda module, given: module.advance(module.project(given[0]), given[1]),
        (inputs, state),
    )
    with report.calling("equations", "lines of the notation"):
        lines = options.part.equations(options, "x")
        name = options.part.written_name(options)
    check_lines(report, "equations", lines)
    if found is None:
        return
    pieces = state.split(SIZE, -1)
    letters = ["h", "m", "n", "o"][: len(pieces)]
    call = f"{name}_x({', '.join([*letters, 'x'])})"
    known = {"x": inputs[0], **{letter: piece[0] for letter, piece in zip(letters, pieces, strict=True)}}
    own = options.part.letters(options, "x")
    check_equations(report, "equations", lines, call, known, found[0], cell, own)


def _advanced(report: PartReport, cell: Any, inputs: Tensor, state: Tensor) -> Tensor:
    """(B, state_size) the next state, once its shapes are right."""
    with report.calling("project", "W x + b of every gate"):
        projected = cell.project(inputs)
    if not isinstance(projected, Tensor) or projected.shape[:-1] != inputs.shape[:-1]:
        received = tuple(getattr(projected, "shape", ())) or type(projected).__name__
        report.add("project", f"a tensor ({ROWS}, …)", str(received))
        raise Stop
    with report.calling("advance", "the next state"):
        found: Tensor = cell.advance(projected, state)
    report.shape("advance", found, (ROWS, cell.state_size), "(…, state_size)")
    with report.apart():
        with report.calling("advance", "any number of leading dimensions, as a beam search has them"):
            several = cell.advance(projected.unsqueeze(1), state.unsqueeze(1))
        report.shape("advance", several, (ROWS, 1, cell.state_size), "(…, state_size)")
        report.same("advance", several.squeeze(1), found, "the same states whatever the leading dimensions")
    with report.apart(), report.calling("output", "the visible part of the state"):
        report.shape("output", cell.output(found), (ROWS, SIZE), "(…, size)")
    return found


def check_composer(report: PartReport, options: Any) -> None:
    with report.calling("build", "a composer"):
        composer = options.part.build(options, INPUT, SIZE)
    words = numbers(2 * ROWS, INPUT)
    nodes: tuple[Tensor, Tensor] | None = None
    with report.apart():
        nodes = _composed(report, composer, words)

    def call(module: Any, given: Sequence[Tensor]) -> Tensor:
        made: Tensor = module.pair(module.leaf(given[0]), module.leaf(given[1]))
        return made

    check_module(report, "pair", lambda: options.part.build(options, INPUT, SIZE), call, words.split(ROWS))
    with report.calling("equations", "lines of the notation"):
        lines = options.part.equations(options, SIZE)
    check_lines(report, "equations", lines)
    if nodes is None:
        return
    leaves, found = nodes
    parts = ["l", "m", "r", "n"] if composer.carries else ["l", "r"]
    left, right = leaves.detach().split(ROWS)
    pieces = [*left[0].split(SIZE), *right[0].split(SIZE)]
    known = dict(zip(parts, pieces, strict=True))
    own = options.part.letters(options)
    node = f"node_x({', '.join(parts)})"
    check_equations(report, "equations", lines, node, known, found[0], composer, own)
    check_equations(report, "equations", lines, "leaf_x(x)", {"x": words[0]}, leaves[0], composer, own)


def _composed(report: PartReport, composer: Any, words: Tensor) -> tuple[Tensor, Tensor]:
    """The states of leaves and of their nodes, once their shapes are right."""
    with report.calling("leaf", "the states of leaves"):
        leaves: Tensor = composer.leaf(words)
    report.shape("leaf", leaves, (2 * ROWS, composer.state_size), "(…, state_size)")
    with report.calling("pair", "the states of nodes"):
        found: Tensor = composer.pair(*leaves.detach().split(ROWS))
    report.shape("pair", found, (ROWS, composer.state_size), "(…, state_size)")
    with report.apart(), report.calling("output", "the visible part of the state"):
        report.shape("output", composer.output(found), (ROWS, SIZE), "(…, size)")
    if composer.any_number:
        with report.apart():
            with report.calling("several", "the states of nodes with any number of children"):
                many = composer.several(leaves, torch.tensor([0, 0, 1, 1]), 2)
            report.shape("several", many, (2, composer.state_size), "(count, state_size)")
    return leaves, found


def check_score(report: PartReport, options: Any) -> None:
    with report.calling("build", "a score"):
        score = options.part.build(options, SIZE, SIZE)
    query, values = numbers(ROWS, 3, SIZE), numbers(ROWS, 5, SIZE, seed=1)
    before = torch.softmax(numbers(ROWS, 3, 5, seed=2), -1)

    def call(module: Any, given: Sequence[Tensor]) -> Tensor:
        more = given[2:] if module.needs else ()
        made: Tensor = module(given[0], module.keys(given[1]), *more)
        return made

    found: Tensor | None = None
    with report.apart():
        with report.calling("keys", "the prepared keys"):
            keys = score.keys(values)
        holds = isinstance(keys, Tensor) and tuple(keys.shape[:2]) == (ROWS, 5)
        report.is_true("keys", holds, f"(B, S, …) = ({ROWS}, 5, …)", tuple(getattr(keys, "shape", ())))
        with report.calling("forward", "scores"):
            scores = call(score, (query, values, before))
        report.shape("forward", scores, (ROWS, 3, 5), "(B, T, S)")
        if score.needs:
            with report.calling("first", "the first `previous`"):
                first = score.first(scores[:, :1])
            report.shape("first", first, (ROWS, 1, 5), "(B, 1, S)")
        found = scores
    make = lambda: options.part.build(options, SIZE, SIZE)  # noqa: E731
    check_module(report, "forward", make, call, (query, values, *([before] if score.needs else [])))
    look = LookSymbols("q_t", MemorySymbols())
    with report.calling("equation", "an expression of the notation"):
        lines = ["j = 1 … S", "t = 1 … T", *options.part.equations(options, look)]
    check_lines(report, "equation", lines)
    if not score.needs and found is not None:
        known = {"q_t": query[0], "h_j": values[0], "S": 5, "T": 3}
        sizes = {"D": SIZE}
        own = options.part.letters(options, look)
        check_equations(report, "equation", lines, "e_tj", known, found[0], score, own, sizes)


def check_selection(report: PartReport, options: Any) -> None:
    with report.calling("build", "a selection"):
        select = options.part.build(options, SIZE)
    scores = numbers(ROWS, 3, 4)
    given = Given(
        truth=torch.eye(4)[None, :3].expand(ROWS, -1, -1),
        transitions=numbers(ROWS, 2, 4, 4, seed=3),
        heads=torch.tensor([[0, 1, 2], [2, 0, 2]]),
        query=numbers(ROWS, 3, SIZE, seed=4),
        previous=torch.softmax(numbers(ROWS, 3, 4, seed=5), -1),
    )
    known = {name: getattr(given, name) for name in select.needs if hasattr(given, name)}

    def call(mask: Tensor, at: Tensor) -> Tensor:
        made: Tensor = select.eval()(at, mask, Given(**known))
        return made

    found: Tensor | None = None
    with report.apart():
        found = _selected(report, options, select, scores, call)
    look = LookSymbols("q_t", MemorySymbols())
    with report.calling("equations", "lines of the notation"):
        lines = options.part.equations(options, look)
        lines = ["j = 1 … S", "t = 1 … T", *lines, *options.part.read_equations(options, look)]
    check_lines(report, "equations", lines)
    if found is not None and not select.needs and select.joint != "queries" and not select.draws:
        tensors = {"e_tj": scores[0], "q_t": numbers(3, SIZE), "h_j": numbers(4, SIZE), "S": 4, "T": 3}
        own = options.part.letters(options, look)
        check_equations(report, "equations", lines, look.weight, tensors, found[0], select, own)


def check_estimate(report: PartReport, options: Any) -> None:
    """Weights of trees and their gradient, in training and after it, and equations of selections that use it."""
    from regard.nn.selections import Projective

    select = Projective(estimate=options)
    scores, mask = numbers(ROWS, 3, 4), torch.ones(ROWS, 4, dtype=torch.bool)
    mask[1, 3] = False
    for mode in (True, False):
        given = scores.clone().requires_grad_()
        with report.calling("weights", "weights of trees"):
            found = select.train(mode)(given, mask)
        report.shape("weights", found, (ROWS, 3, 4), "(B, T, S)")
        report.is_true(
            "weights", bool((found[1, :, 3] == 0).all()), "a weight of 0 for padding", "other weights"
        )
        apart = float((found[0].sum(-1) - 1).abs().max().detach())
        report.is_true("weights", apart < 1e-4, "weights of a word that sum to 1", f"{apart:.2g} away")
        if mode:
            with report.calling("weights", "a gradient"):
                (found * numbers(ROWS, 3, 4, seed=2)).sum().backward()
            sound = given.grad is not None and bool(given.grad.isfinite().all())
            report.is_true("weights", sound, "a finite gradient of the scores", "none")
    with report.calling("function", "lines of the notation"):
        lines = Projective.equations(
            Projective.Options(estimate=options), LookSymbols("q_t", MemorySymbols())
        )
    check_lines(report, "function", ["j = 1 … S", "t = 1 … T", *lines])


def _selected(
    report: PartReport, options: Any, select: Any, scores: Tensor, call: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """(B, T, S) the weights for a whole mask, once their shape is right."""
    whole, shorter = torch.ones(ROWS, 4, dtype=torch.bool), torch.ones(ROWS, 4, dtype=torch.bool)
    shorter[1, 3] = False
    with report.calling("forward", "weights for a mask (B, S)"):
        found, cut = call(whole, scores), call(shorter, scores)
    report.shape("forward", found, (ROWS, 3, 4), "(B, T, S)")
    outside = cut[1, :2, 3] if "words" in select.needs else cut[1, :, 3]
    report.is_true(
        "forward", bool((outside == 0).all()), "a weight of 0 where the mask is False", f"{outside.tolist()}"
    )
    if "words" not in select.needs and select.joint != "queries":
        with report.calling("forward", "weights for a mask (B, T, S)"):
            report.same(
                "forward", call(shorter[:, None].expand(-1, 3, -1), scores), cut, "the same for (B, T, S)"
            )
        with report.calling("forward", "weights for a row without positions"):
            none = call(torch.zeros(ROWS, 4, dtype=torch.bool), scores)
        report.is_true("forward", bool((none == 0).all()), "0 where nothing is allowed", "other weights")
    if options.part.sums_to_one(options) and select.learns:
        apart = float((found.sum(-1) - 1).abs().max().detach())
        report.is_true(
            "sums_to_one", apart < 1e-4, "weights that sum to 1", f"a sum that is off by {apart:.3g}"
        )
    if select.learns:
        bad = scores.clone()
        bad[0] = float("nan")
        with report.calling("forward", "NaN in the scores to reach the weights"):
            poisoned = call(whole, bad)
        holds = bool(poisoned[0].isnan().any())
        report.is_true("forward", holds, "NaN in the scores to reach the weights", "finite numbers")
    return found
