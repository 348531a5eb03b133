"""The equations of `equations.md`, evaluated with the weights of real networks, are what the networks compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import zoo
from regard.nn.targets import forced
from tests.describe.drafts import DRAFT, Drafts, System
from tests.describe.listing import Chosen, sequences, trees
from tests.describe.notation import Board
from tests.describe.small import LENGTH, around, made, one_row

DRAFTS = Drafts(DRAFT.read_text(encoding="utf-8"))


def close(board: Board, symbol: str, truth: Tensor) -> None:
    torch.testing.assert_close(
        board.all(symbol), truth.double(), rtol=1e-6, atol=1e-6, msg=lambda text: f"{symbol}: {text}"
    )


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
        truth = dict.fromkeys(memories, known["alignment"][None]) if "oracle" in part.names else None
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
            truth = decoder._log_prob(
                distribution, torch.tensor([heads]), torch.ones(1, 3, dtype=torch.bool)
            )[0].exp()
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
    if "chain" in part.names:
        for facts, looks in enumerate(decoder._looks(memories, False), start=2):
            for hop in range(1, decoder.hops + 1):
                found = [board(f"α_{{{facts},{hop},{place}}}") for place in range(1, LENGTH + 1)]
                truth = looks.weights[0, hop - 1]
                torch.testing.assert_close(torch.tensor(found).double(), truth, rtol=1e-6, atol=1e-6)
    elif kind == "FactsDecoder":
        close(board, "α_kj", answer.hops[0])
    elif "label-look" in part.names:
        close(board, "α_tj", answer.attention["film"][0])
    elif "label-glimpses" in part.names:
        close(board, "β_kj", answer.attention["image"][0])
    elif kind == "AlignDecoder":
        close_mean = board.all("α_μν").mean(0), answer.attention["hypothesis"][0, 0]
        torch.testing.assert_close(*close_mean, rtol=1e-6, atol=1e-6)


def check(drafts: Drafts, system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    # the faster way to sum embeddings knows single precision alone
    monkeypatch.setattr("regard.nn.encoders.bag.FEW_WORDS", 0)
    network, spec, columns = made(system)
    batch = one_row(spec, columns)
    known = around(network, batch)
    board = drafts.board(system, known)
    memories = network.encode(batch)
    check_encoders(board, system, memories)
    for part in system.parts:
        if part.column in network.decoders:
            given, target = network.memories(part.column, memories), batch[part.column]
            check_decoder(board, network.decoders[part.column], given, target, part, known[part.column])
    assert not board.unused()


@pytest.mark.parametrize("system", DRAFTS.systems, ids=lambda one: " ".join([one.name, *one.overrides]))
@torch.no_grad()
def test_the_board_says_what_the_network_computes(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    check(DRAFTS, system, monkeypatch)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("tagger-crf", "ψ(y) = a_y[y_1] + Σ_j", "ψ(y) = Σ_j"),
        ("tagger-crf", " + o_y[y_S]", ""),
        ("facts-structured", "+ 0.3 l", "+ 99 l"),
        ("image-qa-attention", "r_3 = tanh(W_3 h + b_3)", "r_3 = relu(W_3 h + b_3)"),
        ("nli-syntax", "/ √A + v_h·g_uk", "/ √A"),
        ("translation", "→h_{j−1}, x_j", "→h_{j−1}, 2 x_j"),
        ("speech-location", "α_0j = [j = 1]", "α_0j = [j = 2]"),
    ],
)
@torch.no_grad()
def test_a_wrong_board_is_noticed(name: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = DRAFT.read_text(encoding="utf-8")
    assert right in text
    drafts = Drafts(text.replace(right, wrong))
    with pytest.raises(AssertionError):
        check(drafts, next(one for one in drafts.systems if one.name == name), monkeypatch)


def test_every_system_of_the_zoo_has_its_equations() -> None:
    assert {one.name for one in DRAFTS.systems if not one.overrides} == set(zoo.names())


def test_every_equation_has_been_compared() -> None:
    used = {name for one in DRAFTS.systems for part in one.parts for name in part.names}
    cells = {"rnn", "gru", "cho", "lstm"}
    assert used | cells == set(DRAFTS.equations)


def test_lines_are_short() -> None:
    assert not [line for lines in DRAFTS.equations.values() for line in lines if len(line) > 115]
