"""The layers of a Transformer encoder in one kernel equal its own layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.data.batch import Tokens
from regard.nn import Embedding
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.memory import Memory
from regard.nn.path import paths, without_fast_paths

KINDS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"norm": "post"},
    "distances": {"distances": 2},
    "learned": {"positions": "learned"},
    "widened": {"embedding": 6},
    "one layer": {"distances": 1, "layers": 1, "norm": "post"},
    "wide": {"size": 68, "heads": 4, "hidden": 70},
}


def encoder_of(kind: str) -> TransformerEncoder:
    given = {"size": 12, "heads": 2, "hidden": 20, "layers": 2} | KINDS[kind]
    torch.manual_seed(3)
    encoder = TransformerEncoder(Embedding(30, given.pop("embedding", given["size"])), **given)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return encoder.eval()


def sentences(rows: int, longest: int) -> Tokens:
    generator = torch.Generator().manual_seed(rows)
    lengths = torch.randint(1, longest + 1, (rows,), generator=generator)
    lengths[0] = longest
    ids = torch.randint(4, 30, (rows, longest), generator=generator)
    return Tokens(ids.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths)


@torch.no_grad()
def both(encoder: TransformerEncoder, tokens: Tokens) -> tuple[Memory, Memory]:
    """What the kernel and what the layers give."""
    (path,) = paths("transformer.layers", "cpu")
    assert path.takes(encoder, (encoder.embedding.weight, None))
    found = encoder(tokens)
    with without_fast_paths():
        return found, encoder(tokens)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "longest"), [(1, 1), (7, 9), (40, 23)])
def test_states_equal_those_of_the_layers(kind: str, rows: int, longest: int) -> None:
    found, expected = both(encoder_of(kind), sentences(rows, longest))
    torch.testing.assert_close(found.values, expected.values, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.summary, expected.summary, rtol=1e-4, atol=1e-5)
    assert not found.values[~found.mask].any()


def test_in_double_precision() -> None:
    found, expected = both(encoder_of("distances").double(), sentences(6, 8))
    assert found.values.dtype == torch.float64
    torch.testing.assert_close(found.values, expected.values, rtol=1e-10, atol=1e-10)


def test_what_is_not_finite_stays_so_and_does_not_spread() -> None:
    encoder, tokens = encoder_of("pre"), sentences(7, 9)
    word = int(tokens.ids[2, 0])
    with torch.no_grad():
        encoder.embedding.weight[word] = torch.nan
    found, expected = both(encoder, tokens)
    struck = (tokens.ids == word).any(1)
    assert struck.any() and not struck.all()
    assert found.values[struck].isnan().flatten(1).any(1).all()
    torch.testing.assert_close(found.values[~struck], expected.values[~struck], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("through", ["method", "data", "exchange"])
def test_changed_weights_are_read(through: str) -> None:
    encoder, tokens = encoder_of("pre"), sentences(7, 9)
    before, _ = both(encoder, tokens)
    layer: Any = encoder.layers[1]
    changed = layer.feed[3]
    if through == "method":
        with torch.no_grad():
            changed.weight.mul_(-1)
    elif through == "data":
        changed.weight.data.mul_(-1)
    else:
        changed.weight = torch.nn.Parameter(-changed.weight)
    found, expected = both(encoder, tokens)
    torch.testing.assert_close(found.values, expected.values, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found.values, before.values, atol=1e-2)


def test_a_changed_layer_computes_itself() -> None:
    (path,) = paths("transformer.layers", "cpu")
    encoder = encoder_of("pre")
    given = (encoder.embedding.weight, None)
    assert path.why_not(encoder, given) == ""
    layer: Any = encoder.layers[0]
    layer.feed[1] = torch.nn.GELU()
    assert path.why_not(encoder, given) == "A layer was changed."
    assert path.why_not(encoder_of("pre").train(), given) == "The encoder is in training."

    class Deeper(TransformerEncoder):
        def through(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor]:
            return super().through(2 * x, mask)

    other = Deeper(Embedding(30, 12), size=12, heads=2, layers=1).eval()
    assert path.why_not(other, given).startswith("Only the layers of Transformer encoders")
