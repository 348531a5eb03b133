"""The equations of `equations.md`, evaluated with the weights of real networks, are what the networks compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import zoo
from regard.data.batch import BEGIN, Batch, Sentences, Tokens, Trees
from regard.data.perceived import Films, Pictures, Series
from regard.model.building import build_network
from regard.model.counting import _taught
from regard.model.network import Network
from regard.nn.targets import forced
from tests.describe.drafts import DRAFT, Drafts, System
from tests.describe.listing import Chosen, sequences, trees
from tests.describe.notation import Board, Family

DRAFTS = Drafts(DRAFT.read_text(encoding="utf-8"))
SMALL = {
    "encoder.size": 6,
    "encoder.embedding": 5,
    "decoder.size": 12,
    "decoder.embedding": 5,
    "encoder.channels": "[3,4,5]",
    "encoder.frame.channels": "[3,4,5]",
    "encoder.frame.size": 6,
    "encoder.premise.embedding": 6,
    "encoder.premise.parents.size": 4,
    "encoder.parents.size": 4,
    "encoder.story.embedding": 6,
    "encoder.question.embedding": 6,
    "encoder.image.channels": "[3,4,5]",
    "encoder.image.size": 7,
    "encoder.question.size": 4,
    "decoder.answer.hidden": 6,
    "decoder.answer.size": 7,
    "decoder.caption.size": 7,
    "decoder.hidden": 6,
    "decoder.relation_size": 4,
    "inputs.image.size": "[16,24]",
    "inputs.film.size": 16,
}
KEPT = {("image-class", "inputs.image.size"), ("image-class", "encoder.channels")}
"""Where the published size is the only one."""
LENGTH = 4
"""Positions of a text, so that all structures over it can be listed."""


def overrides(name: str) -> list[str]:
    """Small sizes, for the parts that have one."""
    spec = zoo.find(name)
    found = []
    for path, value in SMALL.items():
        side, *keys = path.split(".")
        where: Any = getattr(spec, side)
        if side != "inputs" and len(where) == 1:
            where = next(iter(where.values()))
        for key in keys:
            where = where.get(key) if isinstance(where, dict) else getattr(where, key, None)
        if where is not None and (name, path) not in KEPT:
            found.append(f"{path}={value}")
    return found


def made(system: System) -> tuple[Network, Any, dict[str, Any]]:
    """A small network in double precision, all weights at random."""
    torch.manual_seed(1)
    spec = zoo.find(system.name, [*overrides(system.name), *system.overrides])
    columns = _taught(spec, {})
    network = build_network(spec, columns, read_files=False).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
    return network.requires_grad_(False), spec, columns


def one_row(spec: Any, columns: dict[str, Any]) -> Batch:
    """A row of made-up values for every column that is no truth."""
    found: dict[str, Any] = {}
    for name, part in {**spec.inputs, **spec.outputs}.items():
        column, count = columns[name], LENGTH - (name == "hypothesis") - (part.type in ("tags", "tree"))
        few = any(one.type in ("tags", "tree") for one in spec.outputs.values())
        length = torch.tensor([3 if few else count])
        if part.type == "text":
            ids = torch.randint(4, column.size, (1, int(length)))
            found[name] = Tokens(ids, length, length)
        elif part.type == "tags":
            found[name] = Tokens(torch.randint(0, column.size, (1, 3)), length, length)
        elif part.type == "tree":
            words = found[part.of].ids.shape[1]
            heads = torch.tensor([[2, 0, *[2] * (words - 2)]])
            found[name] = Trees(heads, torch.zeros_like(heads), torch.tensor([words]))
        elif part.type == "label":
            found[name] = torch.tensor([0])
        elif part.type == "image":
            found[name] = Pictures(torch.randint(0, 256, (1, column.channels, *column.canvas), dtype=torch.uint8))
        elif part.type == "video":
            pixels = torch.randint(0, 256, (1, 3, column.channels, *column.canvas), dtype=torch.uint8)
            found[name] = Films(pixels, torch.tensor([3]), torch.tensor([3]))
        elif part.type == "audio":
            found[name] = Series(torch.randn(1, 9, column.width).double(), torch.tensor([9]), torch.tensor([9]))
        else:
            ids = torch.randint(4, columns[name].words.size, (1, LENGTH, 5))
            ids[0, 1, 3:] = 0
            found[name] = Sentences(ids, torch.tensor([LENGTH]))
    return Batch(found, (0,))


def lengths(frames: int, layers: int) -> list[int]:
    return [frames, *(lengths((frames + 1) // 2, layers - 1) if layers > 1 else [])]


def stages(network: nn.Module) -> list[Any]:
    return [layer for layer in network.layers if isinstance(layer, nn.Sequential)]


def scattered(seen: Tensor, kernels: Tensor) -> Tensor:
    filters = kernels.new_zeros(*seen.shape, *kernels.shape[1:])
    filters[seen] = kernels
    return filters


def by_place(weight: Tensor, features: int) -> Tensor:
    """Columns ordered by feature and place → by place and feature."""
    return weight.unflatten(1, (features, -1)).transpose(1, 2).flatten(1)


PYTHON = {
    "torch": torch,
    "BEGIN": BEGIN,
    "Family": Family,
    "from0": lambda tensor: Family(tensor, (0,)),
    "from_": lambda *parts: Family(parts[-1], parts[:-1]),
    "padded": lambda ids: nn.functional.pad(ids, (0, 8 - len(ids))),
    "lengths": lengths,
    "stages": stages,
    "pooled": lambda network: sum(isinstance(layer, nn.MaxPool2d) for layer in network.layers),
    "blocks": lambda encoder: [layer for layer in encoder.network.stages if hasattr(layer, "past")],
    "scattered": scattered,
    "by_place": by_place,
}


def around(network: Network, batch: Batch) -> dict[str, dict[str, Any]]:
    """What the Python of the bindings knows, by column."""
    found = {}
    alignment = torch.softmax(torch.randn(1, 5, LENGTH).double(), -1)
    names = [*network.readers, *network.decoders]
    for name in names:
        module: Any = network.decoders[name] if name in network.decoders else network.reader(name)
        attention = getattr(module, "attention", None)
        if getattr(module, "reading", None) is not None:
            attention = next(iter(module.reading.attentions.values()))
        found[name] = PYTHON | {
            "m": module,
            "layers": list(module.stack.cells) if hasattr(module, "stack") else [],
            "a": attention,
            "given": batch[name],
            "givens": [batch[one] for one in names if isinstance(batch[one], Tokens)],
            "given_trees": [batch[one] for one in batch.columns if isinstance(batch[one], Trees)],
            "width": getattr(next(iter(network.encoders.values())), "value_size", 0),
            "alignment": alignment[0],
        }
    return found


def close(board: Board, symbol: str, truth: Tensor) -> None:
    torch.testing.assert_close(board.all(symbol), truth.double(), rtol=1e-6, atol=1e-6, msg=lambda text: f"{symbol}: {text}")


def check_encoders(board: Board, system: System, memories: Any) -> None:
    defined = {equation.text.split(" = ")[0] for equation, _ in board.equations}
    for part in system.parts:
        if part.column not in memories:
            continue
        memory = memories[part.column]
        whole, position = part.letters.get("h", "h"), part.letters.get("j", "j")
        if f"{whole}_{position}" in defined:
            close(board, f"{whole}_{position}", memory.values[0])
        if memory.keys is not None and "k_j" in defined:
            close(board, "k_j", memory.keys[0])
        if whole in defined:
            close(board, whole, memory.summary[0])
        if "h_uj" in defined:
            for text, one in enumerate(memories.values(), start=1):
                for place in range(one.values.shape[1]):
                    found = board(f"h_{{{text},{place + 1}}}")
                    torch.testing.assert_close(found, one.values[0, place], rtol=1e-6, atol=1e-6)
        if "c_j" in defined and memory.layout == "sentences":
            close(board, "c_j", memory.values[0])
            close(board, "m_j", memory.keys[0])


def check_decoder(board: Board, decoder: Any, memories: Any, target: Any, part: Any, known: Any) -> None:
    kind = type(decoder).__name__
    if kind == "RecurrentDecoder":
        truth = {name: known["alignment"][None] for name in memories} if "oracle" in part.names else None
        previous, _, packing = forced(target)
        unrolled = decoder.unroll(memories, previous, packing, truth=truth)
        close(board, "p(y_t)", torch.softmax(decoder.output(unrolled.readouts), -1))
        for looks in unrolled.looks.values():
            close(board, "α_tj", looks)
        return
    if kind == "ChainTagsDecoder":
        chain = decoder.chain(memories[decoder.of])
        for tags in sequences(range(1, decoder.output.out_features + 1), 3)[::7]:
            value = torch.tensor([[tag - 1 for tag in tags]])
            found, truth = board("p(y)", y=tags), chain.log_prob(chain.value_of(value))[0].exp()
            torch.testing.assert_close(found, truth.double(), rtol=1e-5, atol=1e-7)
        return
    if kind == "TreeDecoder":
        vectors = decoder.vectors(memories[decoder.of])
        distribution = decoder.distribution(vectors, torch.tensor([3]))
        for heads in trees(decoder.structure, 3):
            truth = decoder._log_prob(distribution, torch.tensor([heads]), torch.ones(1, 3, dtype=torch.bool))[0].exp()
            torch.testing.assert_close(board("p(y)", y=Chosen(heads)), truth.double(), rtol=1e-5, atol=1e-7)
            relations = decoder.relation_scores(vectors, torch.tensor([heads]))[0].exp()
            for word, head in enumerate(heads, start=1):
                found = board(f"ρ_{{{head},{word}}}")
                torch.testing.assert_close(found, relations[word - 1].double(), rtol=1e-5, atol=1e-6)
        return
    answer = decoder.predict(memories)
    if kind == "TagsDecoder":
        close(board, "p(y_j)", answer.log_probabilities[0].exp())
        return
    close(board, f"p({part.letters.get('y', 'y')})", answer.log_probabilities[0].exp())
    if kind == "FactsDecoder":
        truth = answer.hops[0]
        found = board.all("α_kj") if "hops" in part.names else torch.stack(
            [torch.stack([board(f"α_{{L,{k},{j}}}") for j in range(1, LENGTH + 1)]) for k in range(1, 4)]
        )
        torch.testing.assert_close(found, truth, rtol=1e-6, atol=1e-6)
    elif "label-look" in part.names:
        close(board, "α_tj", answer.attention["film"][0])
    elif "label-glimpses" in part.names:
        close(board, "β_kj", answer.attention["image"][0])
    elif kind == "AlignDecoder":
        close_mean = board.all("α_μν").mean(0), answer.attention["hypothesis"][0, 0]
        torch.testing.assert_close(*close_mean, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("system", DRAFTS.systems, ids=lambda one: " ".join([one.name, *one.overrides]))
@torch.no_grad()
def test_the_board_says_what_the_network_computes(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    # the faster way to sum embeddings knows single precision alone
    monkeypatch.setattr("regard.nn.encoders.bag.FEW_WORDS", 0)
    network, spec, columns = made(system)
    batch = one_row(spec, columns)
    known = around(network, batch)
    board = DRAFTS.board(system, known)
    memories = network.encode(batch)
    check_encoders(board, system, memories)
    for part in system.parts:
        if part.column in network.decoders:
            given = network.memories(part.column, memories)
            check_decoder(board, network.decoders[part.column], given, batch[part.column], part, known[part.column])


def test_every_system_of_the_zoo_has_its_equations() -> None:
    assert {one.name for one in DRAFTS.systems if not one.overrides} == set(zoo.names())


def test_lines_are_short() -> None:
    for lines in DRAFTS.equations.values():
        assert all(len(line) <= 120 for line in lines)
