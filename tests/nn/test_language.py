"""Language models against torch's recurrences, masks and counts."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.data.batch import BEGIN, Span
from regard.data.columns.stream import StreamColumn
from regard.data.columns.stream import span as as_span
from regard.nn.decoders import LanguageDecoder, WindowDecoder

TEXT = "the cat saw the dog; the dog saw a cat. a dog, a cat!\n" * 3


def made(kind: Any, **options: Any) -> Any:
    column = StreamColumn("text", unit="char")
    column.learn([TEXT])
    torch.manual_seed(1)
    chosen = {"size": 6, "embedding": 5, **options}
    return kind.build(kind.Options(**chosen), column, {}).double(), column


def spans(column: StreamColumn, rows: int = 2, width: int = 7, count: int = 3) -> list[Span]:
    ids = column.encode(TEXT)[: rows * width * count].astype(np.int64).reshape(rows, -1)
    found, before = [], np.full(rows, BEGIN)
    for number in range(count):
        part = ids[:, number * width : (number + 1) * width]
        found.append(as_span(part, before, fresh=number == 0))
        before = part[:, -1]
    return found


def torch_model(decoder: LanguageDecoder, kind: type[nn.RNNBase]) -> nn.RNNBase:
    """torch's recurrence with the weights of a decoder."""
    cells = [decoder.cell(layer) for layer in range(len(decoder.cells))]
    model = kind(cells[0].input_size, cells[0].size, len(cells), batch_first=True).double()
    with torch.no_grad():
        for layer, cell in enumerate(cells):
            for name, weight in zip(
                ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), cell.torch_weights(), strict=True
            ):
                getattr(model, f"{name}_l{layer}").copy_(weight)
    return model


def by_torch(decoder: Any, model: nn.RNNBase, span: Span, state: Any) -> tuple[torch.Tensor, Any]:
    hidden, state = model(nn.functional.embedding(span.before, decoder.embedding.weight), state)
    logits = hidden @ decoder.output.weight.T + decoder.output.bias
    cost = nn.functional.cross_entropy(logits.flatten(0, 1), span.ids.flatten(), reduction="sum")
    parts = state if isinstance(state, tuple) else (state,)
    detached = tuple(part.detach() for part in parts)
    return cost, detached if isinstance(state, tuple) else detached[0]


@pytest.mark.parametrize(("cell", "kind"), [("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)])
@pytest.mark.parametrize("layers", [1, 2])
def test_spans_with_carried_state_are_those_of_torch(cell: str, kind: Any, layers: int) -> None:
    """Losses and gradients of truncated BPTT: the state is carried over, its gradient is not."""
    decoder, column = made(LanguageDecoder, cell=cell, layers=layers)
    model, state = torch_model(decoder, kind), None
    decoder.train()
    for one in spans(column):
        expected, state = by_torch(decoder, model, one, state)
        loss = decoder.loss({}, one)
        torch.testing.assert_close(loss.total, expected, rtol=1e-9, atol=1e-9)
        assert loss.count == one.ids.numel()
        decoder.zero_grad()
        loss.total.backward()
        weights = [getattr(model, f"weight_hh_l{layer}") for layer in range(layers)]
        for layer, gradient in enumerate(torch.autograd.grad(expected, weights)):
            torch.testing.assert_close(decoder.cell(layer).weight_hh.grad, gradient, rtol=1e-8, atol=1e-9)


def test_a_last_layer_as_wide_as_the_embedding_needs_no_product_before_tied_weights() -> None:
    decoder, column = made(LanguageDecoder, cell="lstm", layers=2, last=5, tie="output")
    assert decoder.narrow is None
    decoder.train()
    layers = [nn.LSTM(5, 6, batch_first=True).double(), nn.LSTM(6, 5, batch_first=True).double()]
    with torch.no_grad():
        for layer, model in enumerate(layers):
            for own, weight in zip(model.parameters(), decoder.cell(layer).torch_weights(), strict=True):
                own.copy_(weight)
    states: list[Any] = [None, None]
    for one in spans(column):
        hidden = nn.functional.embedding(one.before, decoder.embedding.weight)
        for layer, model in enumerate(layers):
            hidden, states[layer] = model(hidden, states[layer])
        logits = hidden @ decoder.embedding.weight.T + decoder.output.bias
        expected = nn.functional.cross_entropy(logits.flatten(0, 1), one.ids.flatten(), reduction="sum")
        torch.testing.assert_close(decoder.loss({}, one).total, expected, rtol=1e-9, atol=1e-9)


def test_a_fresh_span_begins_without_state() -> None:
    decoder, column = made(LanguageDecoder)
    first, second, _ = spans(column)
    decoder.train()
    alone = decoder.loss({}, Span(second.ids, second.before, fresh=True)).total
    decoder.loss({}, first)
    carried = decoder.loss({}, second).total
    decoder.loss({}, first)
    anew = decoder.loss({}, Span(second.ids, second.before, fresh=True)).total
    assert torch.equal(alone, anew)
    assert not torch.isclose(alone, carried)


def test_measuring_leaves_the_state_of_training_alone() -> None:
    decoder, column = made(LanguageDecoder)
    first, second, third = spans(column)
    decoder.train()
    decoder.loss({}, first)
    kept = [part.clone() for part in decoder.carried]
    decoder.eval()
    decoder.loss({}, third)
    decoder.costs(second, None)
    assert all(torch.equal(one, other) for one, other in zip(kept, decoder.carried, strict=True))


def test_our_kernels_and_torchs_agree() -> None:
    """On the CPU, gradients come from our kernels; without a gradient, small batches use torch."""
    decoder, column = made(LanguageDecoder, layers=2)
    state, other = None, None
    for one in spans(column):
        costs, state = decoder.costs(one, state)
        rows, other = decoder.read(one.before, other)
        again, _ = decoder.output.loss(rows, one.ids.flatten())
        torch.testing.assert_close(costs.sum(), again, rtol=1e-9, atol=1e-9)
        for mine, theirs in zip(state, other, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "cell",
    [
        {"type": "gru", "reset": "before", "update": "cho"},
        {"type": "mrnn"},
        {"type": "jordan"},
        {"type": "deep", "transition": 2},
    ],
)
def test_a_cell_that_torch_does_not_know_is_run_step_by_step(cell: dict[str, Any]) -> None:
    decoder, column = made(LanguageDecoder, cell=cell)
    cell, (one, *_) = decoder.cell(0), spans(column)
    state = torch.zeros(2, cell.state_size).double()
    outputs = []
    for t in range(one.ids.shape[1]):
        state = cell(decoder.embedding.weight[one.before[:, t]], state)
        outputs.append(cell.output(state))
    found, (last,) = decoder(one.before, decoder.start(2))
    torch.testing.assert_close(found, torch.stack(outputs, 1))
    torch.testing.assert_close(last, state)


@pytest.mark.parametrize("first", ["learned", "random"])
def test_a_learned_first_state_begins_a_text_and_gets_its_gradient(first: str) -> None:
    """s_0 is what torch's LSTM is given before the first span; later spans do not depend on it."""
    decoder, column = made(LanguageDecoder, first=first)
    (s_0,), model = decoder.firsts, torch_model(decoder, nn.LSTM)
    assert bool((s_0 == 0).all()) is (first == "learned")
    with torch.no_grad():
        s_0.copy_(torch.randn(12, dtype=torch.double))
    decoder.train()
    begun, second, _ = spans(column)
    given = s_0.detach().clone().requires_grad_()
    state = tuple(part.expand(1, 2, -1).contiguous() for part in given.split(6))
    expected, state = by_torch(decoder, model, begun, state)
    loss = decoder.loss({}, begun).total
    torch.testing.assert_close(loss, expected, rtol=1e-9, atol=1e-9)
    loss.backward()
    torch.testing.assert_close(s_0.grad, *torch.autograd.grad(expected, [given]), rtol=1e-8, atol=1e-9)
    decoder.zero_grad()
    later = decoder.loss({}, second).total
    torch.testing.assert_close(later, by_torch(decoder, model, second, state)[0], rtol=1e-9, atol=1e-9)
    later.backward()
    assert s_0.grad is None


def test_recurrent_dropout_drops_weights_from_state_to_state() -> None:
    """One mask for the whole span, on U alone: the loss equals that of torch's LSTM with the masked U."""
    decoder, column = made(LanguageDecoder, recurrent_dropout=0.5)
    plain, (one, *_) = torch_model(decoder, nn.LSTM), spans(column)
    decoder.train()
    torch.manual_seed(5)
    found = decoder.loss({}, one).total
    torch.manual_seed(5)
    with torch.no_grad():
        plain.weight_hh_l0.copy_(nn.functional.dropout(plain.weight_hh_l0, 0.5, True))
    assert 0 < (plain.weight_hh_l0 == 0).double().mean() < 1
    torch.testing.assert_close(found, by_torch(decoder, plain, one, None)[0], rtol=1e-9, atol=1e-9)
    decoder.eval()
    whole = by_torch(decoder, torch_model(decoder, nn.LSTM), one, None)[0]
    torch.testing.assert_close(decoder.loss({}, one).total, whole)


def test_variational_dropout_keeps_one_mask_for_a_span() -> None:
    decoder, _ = made(LanguageDecoder, dropout=0.5, variational=True)
    ones = torch.ones(3, 7, 6).double()
    mask = decoder.train().dropped(ones)
    assert set(mask.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(mask, mask[:, :1].expand_as(mask))
    assert not torch.equal(mask[0], mask[1])
    assert torch.equal(decoder.eval().dropped(ones), ones)
    plain = made(LanguageDecoder, dropout=0.5)[0].train().dropped(ones)
    assert not torch.equal(plain, plain[:, :1].expand_as(plain))


@pytest.mark.parametrize("kind", [LanguageDecoder, WindowDecoder])
@pytest.mark.parametrize(
    "options", [{}, {"tie": "output"}, {"output": "adaptive", "size": 16, "cutoffs": [5, 9]}]
)
def test_probabilities_sum_to_one_and_cost_their_logarithm(kind: Any, options: dict[str, Any]) -> None:
    decoder, column = made(kind, **options)
    decoder.eval()
    one = spans(column)[0]
    costs, _ = decoder.costs(one, None)
    state = None
    for t in range(one.ids.shape[1]):
        found, state = decoder.following(one.before[:, t : t + 1], state)
        torch.testing.assert_close(found.exp().sum(-1), torch.ones(2).double())
        torch.testing.assert_close(costs[:, t], -found.gather(1, one.ids[:, t : t + 1])[:, 0])


@pytest.mark.parametrize("kind", [LanguageDecoder, WindowDecoder])
def test_without_weights_all_units_are_equally_probable(kind: Any) -> None:
    decoder, column = made(kind)
    nn.init.zeros_(decoder.output.weight)
    costs, _ = decoder.costs(spans(column)[0], None)
    torch.testing.assert_close(costs, torch.full_like(costs, math.log(column.size)))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_window_is_blind_to_what_lies_further_back(order: int) -> None:
    decoder, _ = made(WindowDecoder, order=order)
    ids = torch.randint(4, 12, (1, 9))
    plain, _ = decoder(ids, decoder.start(1))
    for place in range(9):
        changed = ids.clone()
        changed[0, place] = 12
        found, _ = decoder(changed, decoder.start(1))
        differ = (found != plain).any(-1)[0].nonzero().flatten().tolist()
        assert differ == list(range(place, min(9, place + order)))


@pytest.mark.parametrize("order", [1, 2])
def test_a_trained_window_reaches_the_entropy_of_counted_n_grams(order: int, learning_seed: int) -> None:
    """H = −Σ log(count of the n-gram ÷ count of its prefix) ÷ tokens, counted by hand. No window of this
    order can have a lower loss on this text, and a trained one comes close."""
    draw = random.Random(3)
    text = "aa"
    for _ in range(1500):
        text += draw.choice({"aa": "bbbc", "ab": "cca", "bb": "aac", "bc": "b"}.get(text[-2:], "abb"))
    begun = "^" * order + text
    grams = Counter(begun[place : place + order + 1] for place in range(len(text)))
    starts = Counter(begun[place : place + order] for place in range(len(text)))
    entropy = -sum(count * math.log(count / starts[gram[:-1]]) for gram, count in grams.items()) / len(text)
    column = StreamColumn("text", unit="char")
    column.learn([text])
    torch.manual_seed(1 + learning_seed)
    decoder = WindowDecoder.build(WindowDecoder.Options(order=order, size=16, embedding=8), column, {})
    whole = as_span(column.encode(text).astype(np.int64)[None], np.array([BEGIN]))
    optimizer = torch.optim.Adam(decoder.parameters(), lr=0.02)
    for _ in range(250):
        loss = decoder.loss({}, whole)
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    reached = float(decoder.eval().loss({}, whole).total.detach()) / len(text)
    assert entropy - 1e-4 < reached < 1.02 * entropy + 0.005
