"""Copying mixes words of the vocabulary and of the source; compared with sums over words by spelling."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, UNKNOWN, Tokens
from regard.data.columns.verbatim import verbatim
from regard.errors import RegardError
from regard.fast import recurrence
from regard.fast.paths.recorded_beam import beam_in_chunks
from regard.fast.paths.recorded_tokens import written_in_chunks
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.memory import Memory
from regard.nn.packing import Packing, forced
from regard.nn.repetition import repetition_total
from regard.nn.scores import History
from regard.nn.search import Beam, Ensemble, Greedy, Hypotheses, Limits, Sample, Stepper, score
from regard.nn.search.greedy import MostProbable
from regard.spec import Spec

PIECES = ["the", "cat", "saw", "dog"]
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
V = len(SPECIAL) + len(PIECES)
SOURCES = ["zork saw the zork of blib", "cat", "blib the blib zork"]
TARGETS = ["zork saw blib", "dog quux", "zork zork the"]
"""zork, of and blib are outside the vocabulary and in sources; quux is in none."""
PATHS = [
    {"state": "previous"},
    {"state": "current"},
    {"state": "current", "feed": False},
    {"state": "previous", "cell": "lstm", "layers": 2, "deep": True},
]


def read(texts: list[str]) -> Tokens:
    known = {piece: number for number, piece in enumerate(PIECES, len(SPECIAL))}
    rows = [text.split() for text in texts]
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    for row, words in enumerate(rows):
        ids[row, : len(words)] = torch.tensor([known.get(word, UNKNOWN) for word in words])
    return Tokens(ids, torch.tensor([len(words) for words in rows]), verbatim=verbatim(rows))


def make(seed: int = 0, score: str = "additive", select: str = "softmax", **options: Any) -> Any:
    torch.manual_seed(seed)
    encoder = RecurrentEncoder(Embedding(V, 5), size=4)
    attention = {"source": Attention(6, encoder.value_size, score=score, select=select)}
    decoder = RecurrentDecoder(
        Embedding(V, 5),
        {"source": encoder},
        size=6,
        attention=attention,
        copies=("source", PIECES),
        **options,
    )
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        torch.nn.init.normal_(parameter, std=0.7)
    return encoder.double().eval(), decoder.double().eval()


def memory_of(encoder: Any, texts: list[str]) -> dict[str, Memory]:
    tokens = read(texts)
    assert tokens.verbatim is not None
    return {"source": replace(encoder(tokens), verbatim=tokens.verbatim.keys)}


def by_hand(decoder: Any, memories: Any, text: str, row: int, words: list[str]) -> list[dict[str, float]]:
    """p of every word that can be written at each step, by spelling, while `words` are written."""
    one = {"source": memories["source"].select(torch.tensor([row]))}
    state, previous, found = decoder.start(one), BEGIN, []
    source = text.split()
    for word in [*words, ""]:
        embedded = decoder.embedding(torch.tensor([[previous]]))
        projected = decoder.project(embedded, state)
        state, output, look = decoder.advance(projected, embedded, state, one)
        readout = decoder.readout(output, look.context, embedded) if state.feed is None else state.feed
        written = torch.softmax(decoder.output(readout)[0, 0], -1).tolist()
        features = torch.cat([output, look.context, embedded], -1)[0, 0]
        linear = decoder.copying.gate
        gate = 1 / (1 + math.exp(-float(linear.weight[0] @ features + linear.bias[0])))
        chances: dict[str, float] = {}
        for piece, chance in zip(SPECIAL + PIECES, written, strict=True):
            chances[piece] = chances.get(piece, 0.0) + gate * chance
        for piece, weight in zip(source, look.weights["source"][0, 0].tolist(), strict=False):
            chances[piece] = chances.get(piece, 0.0) + (1 - gate) * weight
        found.append(chances)
        previous = len(SPECIAL) + PIECES.index(word) if word in PIECES else UNKNOWN
    return found


def spelled(number: int, source: str) -> str:
    return source.split()[number - V] if number >= V else (SPECIAL + PIECES)[number]


@pytest.mark.parametrize("options", PATHS, ids=str)
@torch.no_grad()
def test_the_mixture_is_that_of_the_words(options: dict[str, Any]) -> None:
    encoder, decoder = make(**options)
    memories, target = memory_of(encoder, SOURCES), read(TARGETS)
    likelihoods, total = [], 0.0
    for row, (source, text) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        steps = by_hand(decoder, memories, source, row, text.split())
        wanted = [*text.split(), "</s>"]
        chances = [
            one.get(word, one["<unk>"] if word not in source.split() else 0.0)
            for one, word in zip(steps, wanted, strict=True)
        ]
        likelihoods.append(sum(map(math.log, chances)))
        total += sum(map(math.log, chances))
        # every choice of every step, by spelling
        state, previous = decoder.start(memories), torch.full((3, 1), BEGIN)
        choices = decoder.targets(memories, target).ids
        for t, one in enumerate(steps):
            step = decoder.step(previous, state, memories)
            found = step.logits[row, 0].exp()
            assert float(found.sum()) == pytest.approx(1.0, abs=1e-12)
            for number, chance in enumerate(found.tolist()):
                if chance or number < V:
                    assert chance == pytest.approx(one[spelled(number, source)], abs=1e-12)
            assert sum(found > 0) == len(one)
            state = step.state
            previous = choices[:, t : t + 1] if t < choices.shape[1] else previous
    loss = decoder.loss(memories, target)
    assert float(loss.total) == pytest.approx(-total, abs=1e-9)
    assert float(loss.parts["likelihood"]) == pytest.approx(-total, abs=1e-9)
    scored = score(Stepper(decoder, memories), target)
    assert scored.scores[:, 0].tolist() == pytest.approx(likelihoods, abs=1e-9)
    distribution = decoder.distribution(memories, target)
    assert distribution.shape == (int((target.lengths + 1).sum()), V + 6)
    torch.testing.assert_close(distribution.sum(1), torch.ones(len(distribution)).double())


@pytest.mark.parametrize("options", [PATHS[0], PATHS[2], PATHS[3]], ids=str)
def test_every_path_has_the_same_loss_and_gradient(options: dict[str, Any]) -> None:
    encoder, decoder = make(**options)
    encoder, decoder = encoder.float(), decoder.float()
    target = read(TARGETS)

    def gradients() -> tuple[float, dict[str, Tensor]]:
        decoder.zero_grad()
        encoder.zero_grad()
        loss = decoder.loss(memory_of(encoder, SOURCES), target)
        loss.total.backward()
        return float(loss.total.detach()), {
            name: parameter.grad.clone() for name, parameter in decoder.named_parameters()
        }

    if options["state"] == "previous":
        assert not recurrence.decoder_lacks(decoder, memory_of(encoder, SOURCES))
    fast, fast_gradients = gradients()
    decoder.unroll = decoder.unroll_plain
    plain, plain_gradients = gradients()
    assert fast == pytest.approx(plain, rel=1e-5)
    for name, gradient in plain_gradients.items():
        torch.testing.assert_close(fast_gradients[name], gradient, atol=2e-5, rtol=2e-4, msg=name)
        assert gradient.isfinite().all(), name


def all_outputs(
    decoder: Any, memories: Any, source: str, row: int, longest: int
) -> dict[tuple[str, ...], float]:
    """log p of every output of at most so many words; END follows the last."""
    words = sorted({*PIECES, *source.split(), "<unk>"})
    found = {}
    for length in range(longest + 1):
        for chosen in itertools.product(words, repeat=length):
            steps = by_hand(decoder, memories, source, row, list(chosen))
            found[chosen] = sum(
                math.log(one[word]) for one, word in zip(steps, [*chosen, "</s>"], strict=True)
            )
    return found


@torch.no_grad()
def test_searches_find_what_enumeration_finds() -> None:
    encoder, decoder = make(seed=5)
    memories = memory_of(encoder, SOURCES)
    limits = Limits(maximum=2)
    every = all_outputs(decoder, memories, SOURCES[0], 0, 2)
    found = Beam(size=100, length_penalty=0.0, best=3, limits=limits)(Stepper(decoder, memories))
    best = sorted(every, key=lambda one: -every[one])[:3]
    for rank, wanted in enumerate(best):
        assert written(found, 0, rank) == wanted
        assert float(found.scores[0, rank]) == pytest.approx(every[wanted], abs=1e-6)
    greedy = Greedy(limits=limits)(Stepper(decoder, memories))
    for row, source in enumerate(SOURCES):
        words = written(greedy, row)
        for t, one in enumerate(by_hand(decoder, memories, source, row, list(words))[: len(words)]):
            possible = {piece: chance for piece, chance in one.items() if piece not in ("<pad>", "<s>")}
            assert words[t] == max(possible, key=lambda piece: possible[piece])
    sampled = Sample(samples=400, seed=3, limits=limits)(Stepper(decoder, memories))
    first = by_hand(decoder, memories, SOURCES[2], 2, [])[0]
    for piece, chance in first.items():
        share = sum((written(sampled, 2, k) or ("</s>",))[0] == piece for k in range(400)) / 400
        if piece not in ("<pad>", "<s>"):
            assert abs(share - chance / (1 - first["<pad>"] - first["<s>"])) < 0.08


def written(found: Hypotheses, row: int, rank: int = 0) -> tuple[str, ...]:
    return tuple(spelled(number, SOURCES[row]) for number in found.content(row, rank))


@torch.no_grad()
def test_answers_do_not_depend_on_the_rows_beside_them() -> None:
    encoder, decoder = make(seed=2)
    together = Beam(size=3, limits=Limits(maximum=5))(Stepper(decoder, memory_of(encoder, SOURCES)))
    for row, source in enumerate(SOURCES):
        alone = Beam(size=3, limits=Limits(maximum=5))(Stepper(decoder, memory_of(encoder, [source])))
        assert written(together, row) == tuple(spelled(one, source) for one in alone.content(0))
        assert float(alone.scores[0, 0]) == pytest.approx(float(together.scores[row, 0]), abs=1e-9)


@torch.no_grad()
def test_padding_and_the_start_symbol_have_a_share_but_are_never_written() -> None:
    encoder, decoder = make()
    decoder.output.bias[[PAD, BEGIN]] += 20.0
    memories = memory_of(encoder, SOURCES)
    step = decoder.step(torch.full((3, 1), BEGIN), decoder.start(memories), memories)
    chances = step.logits[:, 0].exp()
    torch.testing.assert_close(chances.sum(1), torch.ones(3).double())
    written = chances.clone()
    written[:, [PAD, BEGIN]] = 0
    assert (written.sum(1) < 0.999).all()
    found = Beam(size=1, limits=Limits(maximum=0))(Stepper(decoder, memories))
    assert found.scores[:, 0].tolist() == pytest.approx(chances[:, END].log().tolist(), abs=1e-9)
    for search in (Greedy(limits=Limits(maximum=4)), Sample(samples=20, limits=Limits(maximum=4), seed=1)):
        answers = search(Stepper(decoder, memories))
        assert not any(number in (PAD, BEGIN) for row in range(3) for number in answers.content(row))


@torch.no_grad()
def test_an_ensemble_averages_the_mixtures() -> None:
    parts = [make(seed=seed) for seed in (0, 1)]
    steppers = [Stepper(decoder, memory_of(encoder, SOURCES)) for encoder, decoder in parts]
    ensemble = Ensemble(steppers)
    step = ensemble.step(torch.full((3, 1), BEGIN), ensemble.start())
    each = [by_hand(decoder, memory_of(encoder, SOURCES), SOURCES[0], 0, [])[0] for encoder, decoder in parts]
    for number, chance in enumerate(step.logits[0, 0].exp().tolist()):
        if chance:
            piece = spelled(number, SOURCES[0])
            assert chance == pytest.approx((each[0][piece] + each[1][piece]) / 2, abs=1e-9)


def test_scheduled_sampling_draws_copied_words_too() -> None:
    from regard.nn.decoders.step_by_step import ScheduledSamplingOptions

    encoder, decoder = make(sampling=ScheduledSamplingOptions(share=1.0, steps=1))
    decoder.train()
    decoder.seen += 1
    loss = decoder.loss(memory_of(encoder, SOURCES), read(TARGETS))
    loss.total.backward()
    assert loss.total.isfinite() and float(decoder.copying.gate.weight.grad.abs().sum()) > 0


def test_what_can_neither_be_written_nor_copied_has_a_finite_gradient() -> None:
    """A sparse selection gives the copied word no weight: the loss is large, but not infinite."""
    encoder, decoder = make(select="sparsemax", seed=3)
    loss = decoder.loss(memory_of(encoder, SOURCES), read(TARGETS))
    loss.total.backward()
    assert loss.total.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in decoder.parameters())


@torch.no_grad()
def test_the_history_score_adds_up_all_looks_before() -> None:
    encoder, decoder = make(score="history")
    memories = memory_of(encoder, SOURCES)
    previous, _, packing = forced(read(TARGETS))
    looks = packing.unpack(decoder.unroll(memories, previous, packing).looks["source"])
    part = decoder.reading.attention("source").score
    assert isinstance(part, History)
    queries = torch.randn(3, 1, 6).double()
    keys = part.keys(memories["source"].values)
    for t in range(looks.shape[1]):
        before = sum((looks[:, one] for one in range(t)), torch.zeros_like(looks[:, 0]))
        found = part(queries, keys, before.unsqueeze(1))
        for row, s in itertools.product(range(3), range(keys.shape[1])):
            hidden = torch.tanh(part.query(queries[row, 0]) + keys[row, s] + part.before * before[row, s])
            assert float(found[row, 0, s]) == pytest.approx(float(hidden @ part.vector), abs=1e-9)
    # The decoder's state keeps that sum.
    state = decoder.start(memories)
    for t in range(looks.shape[1]):
        state = decoder.step(previous[:, t : t + 1], state, memories).state
        total = looks[:, : t + 1].sum(1)
        real = torch.tensor([t <= length for length in (3, 2, 3)])
        torch.testing.assert_close(state.looks["source"][real, 0], total[real])


def test_the_repetition_penalty_is_the_sum_of_what_is_seen_twice() -> None:
    lengths = torch.tensor([3, 1, 2])
    packing = Packing.of(lengths, 3)
    looks = torch.rand(3, 3, 4)
    by_hand = 0.0
    for row, length in enumerate(lengths.tolist()):
        seen = [0.0] * 4
        for t, s in itertools.product(range(length), range(4)):
            weight = float(looks[row, t, s])
            by_hand += min(weight, seen[s])
            seen[s] += weight
    assert float(repetition_total(packing.pack(looks), packing)) == pytest.approx(by_hand, rel=1e-5)


BASE = {
    "inputs": {"source": {"type": "text"}, "story": {"type": "story"}},
    "outputs": {"target": {"type": "text"}},
    "decoder": {
        "type": "recurrent",
        "copy": True,
        "attention": [{"over": "source"}, {"over": "story"}],
    },
}


def changed(**decoder: Any) -> dict[str, Any]:
    return {**BASE, "decoder": {**BASE["decoder"], **decoder}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(attention=[], condition=["start"]), "copy needs an attention over the input to copy from"),
        (changed(copy="story"), "positions are words"),
        (changed(copy="sauce"), "there is none over 'sauce'"),
        (changed(attention=[{"over": "story"}]), "positions are words"),
        (
            changed(attention=[{"over": "source", "select": "sigmoid"}]),
            "needs attention weights that sum to 1",
        ),
        (changed(attention=[{"over": "source", "select": "local"}]), "needs attention weights that sum to 1"),
        (changed(label_smoothing=0.1), "label_smoothing"),
        (
            {**BASE, "outputs": {"target": {"type": "text", "case": "lower"}}},
            "the same tokenization of source",
        ),
        (
            {**BASE, "outputs": {"target": {"type": "text", "unit": "char"}}},
            "the same tokenization of source",
        ),
        (changed(attention=[{"over": "source", "select": "uniform", "repetition": 1.0}]), "are not learned"),
    ],
)
def test_what_cannot_be_copied_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        Spec.parse(document)


def test_the_first_input_with_words_is_copied_from() -> None:
    from regard.nn.copying import copied_input

    document = changed(attention=[{"over": "story"}, {"over": "source"}])
    spec = Spec.parse(document)
    assert copied_input(spec.decoder["target"], spec) == "source"


@pytest.mark.parametrize("options", [PATHS[0], PATHS[1]], ids=str)
def test_a_search_in_chunks_copies_the_same(options: dict[str, Any]) -> None:
    """As on CUDA: rows and positions are padded to a bucket, and one call makes several steps."""
    encoder, decoder = make(seed=2, **options)
    with torch.no_grad():
        memories = memory_of(encoder, SOURCES)
    stepper, limits = Stepper(decoder, memories), Limits(maximum=12)
    bounds = limits.of(stepper)
    beam = Beam(size=3, limits=limits)
    for found, plain in (
        (written_in_chunks(stepper, MostProbable(), bounds), Greedy(limits=limits)(stepper)),
        (beam_in_chunks(beam, stepper, bounds), beam.step_by_step(stepper, bounds)),
    ):
        assert found is not None
        torch.testing.assert_close(found.scores, plain.scores)
        for row in range(3):
            # The bucket has more positions than the source; a copied word is still encoded by its position.
            assert found.content(row) == plain.content(row)
        assert found.attention["source"].shape[-1] == 6
