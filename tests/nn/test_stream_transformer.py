"""The self-attention language model against sums written out, and read in spans of any length."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import BEGIN, UNKNOWN
from regard.data.columns.stream import StreamColumn
from regard.errors import RegardError
from regard.nn.decoders import ContinuingDecoder
from regard.parts import part
from regard.spec import Spec

TEXT = "the cat saw the dog; the dog saw a cat. a dog, a cat!\n" * 3
OPTIONS: dict[str, Any] = {"size": 8, "embedding": 8, "heads": 2, "layers": 2, "reach": 4}


def made(**options: Any) -> tuple[Any, StreamColumn]:
    column = StreamColumn("text", unit="char")
    column.learn([TEXT])
    torch.manual_seed(1)
    kind = part("decoder", "transformer")
    decoder = kind.build(kind.Options(**OPTIONS | options), column, {}).double().eval()
    if options.get("distances"):
        for layer in decoder.layers:
            torch.nn.init.normal_(layer.itself.distance)
    return decoder, column


def previous(column: StreamColumn, count: int, rows: int = 2) -> Tensor:
    ids = torch.as_tensor(column.encode(TEXT)[: rows * count].astype("int64")).view(rows, count)
    return torch.cat([torch.full((rows, 1), BEGIN), ids[:, :-1]], 1)


def rotation(place: int, size: int) -> Tensor:
    """The matrix that turns each pair of features, block by block."""
    found = torch.zeros(size, size).double()
    for pair in range(size // 2):
        angle = place / 10000 ** (2 * pair / size)
        cosine, sine = math.cos(angle), math.sin(angle)
        block = torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64)
        found[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block
    return found


def written_out(decoder: Any, ids: Tensor, reach: int) -> Tensor:
    """log p (T, V) of one text, token by token and head by head."""
    x = decoder.embedding.weight[ids] * decoder.embedding.size**0.5
    x = x if decoder.widen is None else x @ decoder.widen.weight.T + decoder.widen.bias
    for layer in decoder.layers:
        seen, itself, heads = layer.first.norm(x), layer.itself, []
        size = x.shape[1] // itself.heads
        asked, keys, values = (one(seen) for one in (itself.query, itself.key, itself.value))
        for head in range(itself.heads):
            mine, rows = slice(head * size, (head + 1) * size), []
            for t in range(len(x)):
                near = range(max(0, t - reach + 1), t + 1)
                energies = []
                for j in near:
                    turned = rotation(t, size) @ asked[t, mine], rotation(j, size) @ keys[j, mine]
                    more = 0.0
                    if itself.distances:
                        more = itself.distance[head, min(t - j, itself.distances)]
                    energies.append(turned[0] @ turned[1] / size**0.5 + more)
                weights = torch.stack(energies).softmax(0)
                rows.append(weights @ values[list(near)][:, mine])
            heads.append(torch.stack(rows))
        x = x + torch.cat(heads, 1) @ itself.output.weight.T + itself.output.bias
        x = x + layer.feed(layer.second.norm(x))
    x = decoder.norm(x)
    x = x if decoder.narrow is None else x @ decoder.narrow.weight.T
    return torch.log_softmax(x @ decoder.output.weight.T + decoder.output.bias, -1)


@pytest.mark.parametrize(
    "options", [{}, {"reach": 1}, {"distances": 2, "heads": 4}, {"embedding": 6, "tie": "output"}]
)
def test_probabilities_are_those_of_the_sums_written_out(options: dict[str, Any]) -> None:
    decoder, column = made(**options)
    before = previous(column, 9)
    rows, _ = decoder.read(before, None)
    found = torch.log_softmax(decoder.output(rows), -1).view(2, 9, -1)
    for one, ids in zip(found, before, strict=True):
        torch.testing.assert_close(one, written_out(decoder, ids, decoder.reach), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reach", [1, 4, 100])
def test_a_text_in_spans_of_any_length_has_the_same_probabilities(reach: int) -> None:
    """The cache holds all that a token can see: token by token, as `generate` reads, equals the whole text."""
    decoder, column = made(reach=reach)
    before = previous(column, 23)
    whole, last = decoder(before, decoder.start(2))
    for cuts in ([1] * 23, [5, 1, 17], [22, 1]):
        state, found = decoder.start(2), []
        for piece in before.split(cuts, 1):
            hidden, state = decoder(piece, state)
            found.append(hidden)
        torch.testing.assert_close(torch.cat(found, 1), whole, rtol=1e-9, atol=1e-9)
        for mine, theirs in zip(state, last, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


def test_a_token_does_not_depend_on_what_lies_beyond_its_reach_or_after_it() -> None:
    decoder, column = made(layers=2, reach=4)
    before = previous(column, 15, rows=1)
    whole, _ = decoder(before, decoder.start(1))
    changed = before.clone()
    changed[0, 7] = column.encode("z")[0] if int(before[0, 7]) == UNKNOWN else UNKNOWN
    other, _ = decoder(changed, decoder.start(1))
    differs = [not torch.equal(one, two) for one, two in zip(whole[0], other[0], strict=True)]
    assert differs == [7 <= t < 7 + 2 * 3 + 1 for t in range(15)]


def test_the_looks_are_the_weights_of_the_last_tokens() -> None:
    decoder, column = made(reach=4)
    before = previous(column, 9)
    looks = decoder.self_looks(before)
    assert list(looks) == ["layer 1", "layer 2"]
    for weights in looks.values():
        assert weights.shape == (2, 2, 9, 9)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 9).double())
        apart = torch.arange(9)[:, None] - torch.arange(9)
        assert bool(((weights > 0) == ((apart >= 0) & (apart < 4))).all())


def test_training_carries_the_cache_without_its_gradient() -> None:
    from regard.data.batch import Span

    decoder, column = made()
    decoder.train()
    before = previous(column, 12)
    following = torch.cat([before[:, 1:], before[:, :1]], 1)
    first, second = (slice(0, 6), slice(6, 12))
    decoder.loss({}, Span(following[:, first], before[:, first]))
    carried = decoder.loss({}, Span(following[:, second], before[:, second], fresh=False)).total
    rows, _ = decoder.read(before, None)
    costs = torch.nn.functional.cross_entropy(decoder.output(rows), following.flatten(), reduction="none")
    torch.testing.assert_close(carried, costs.view(2, 12)[:, second].sum(), rtol=1e-9, atol=1e-9)
    carried.backward()
    assert not any(part.requires_grad for part in decoder.carried)
    decoder.eval()
    decoder.costs(Span(following, before), None)
    assert len(decoder.carried) == 5 and isinstance(decoder, ContinuingDecoder)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"positions": "learned"}, "positions has no effect"),
        ({"label_smoothing": 0.1}, "label_smoothing has no effect"),
        ({"tie": "all"}, "a stream has none"),
        ({"heads": 3}, "cannot be divided among 3 heads"),
        ({"distances": 4}, "distances must be below reach, which is 4"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, Any], told: str) -> None:
    spec = {"outputs": {"text": {"type": "stream"}}, "decoder": {"type": "transformer", **OPTIONS | options}}
    with pytest.raises(RegardError, match=told):
        Spec.parse(spec)


@pytest.mark.parametrize("key", ["reach", "word_dropout", "attention_dropout"])
def test_options_of_streams_are_refused_for_texts(key: str) -> None:
    texts = {"inputs": {"source": {"type": "text"}}, "outputs": {"target": {"type": "text"}}}
    value = 4 if key == "reach" else 0.1
    with pytest.raises(RegardError, match=f"{key} has no effect: it applies to a stream"):
        Spec.parse(texts | {"encoder": "transformer", "decoder": {"type": "transformer", key: value}})
