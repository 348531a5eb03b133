"""Faithfulness: every measure against a plain loop that deletes words and calls `model.score`."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

import regard
from regard import Model, Spec
from regard.data import Row
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.model.building import fit_columns, make_columns
from regard.nn.memory import Memory
from regard.questions.faithfulness import Faithfulness, PieceMeasures
from regard.questions.faithfulness.flags import flagged
from regard.questions.faithfulness.intervals import mean_interval, resampled_rows
from regard.questions.faithfulness.measures import jensen_shannon, kendall, total_variation
from regard.worlds import world

WORDS = ["the", "small", "cat", "sees", "a", "big", "dog", "now"]
TEXTS = ("the small cat sees a dog", "a big dog now", "cat sees small the big")
ANSWERS = ("A B C", "B", "C A")
BINS = (0.01, 0.05, 0.10, 0.20, 0.50)


def make(*, select: str = "softmax", seed: int = 0) -> Model:
    """A word model with random weights, large enough that words matter."""
    described = Spec.parse(
        {
            "inputs": {"source": {"type": "text", "unit": "word"}},
            "outputs": {"target": {"type": "text", "unit": "word"}},
            "encoder": {"size": 8, "embedding": 6},
            "attention": {"select": select},
            "decoder": {"size": 10, "embedding": 6},
        }
    )
    torch.manual_seed(seed)
    columns = make_columns(described)
    data = [Row({"source": " ".join(WORDS), "target": "A B C D"})]
    fit_columns(columns, described, lambda: data)
    model = Model.build(described, columns).eval()
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(2.5)
    return model


@pytest.fixture(scope="module")
def model() -> Model:
    return make()


@pytest.fixture(scope="module")
def found(model: Model) -> Faithfulness:
    return regard.faithful(model, list(TEXTS), targets=ANSWERS, seed=3)


def scores(model: Model, words: Sequence[str], answer: str) -> np.ndarray:
    """log p of each piece of the answer."""
    return np.asarray(model.score(" ".join(words), answer).trace.scores)  # type: ignore[union-attr]


def by_hand(model: Model, text: str, answer: str, *, keep: bool) -> list[float]:
    """AOPC of each piece: words are deleted (or all others are) by the order of the attention."""
    words, scored = text.split(), model.score(text, answer)
    assert scored.trace is not None
    full = np.exp(scored.trace.scores)
    means = []
    for step, weights in enumerate(scored.trace.attention["source"]):
        order = sorted(range(len(words)), key=lambda place: -weights[place])
        lost = []
        for share in BINS:
            count = min(max(1, math.ceil(share * len(words))), len(words) - 1)
            top = set(order[:count])
            left = [word for place, word in enumerate(words) if (place in top) == keep]
            lost.append(full[step] - math.exp(scores(model, left, answer)[step]))
        means.append(sum(lost) / len(lost))
    return means


def values(found: Faithfulness, measure: str, method: str = "attention") -> list[list[float]]:
    """The values of each piece, by row."""
    return [
        [piece.values[measure][method] for piece in found.pieces if piece.row == row]
        for row in range(found.rows)
    ]


@pytest.mark.parametrize(("measure", "keep"), [("comprehensiveness", False), ("sufficiency", True)])
def test_a_plain_loop_over_deleted_words_agrees(
    model: Model, found: Faithfulness, measure: str, keep: bool
) -> None:
    for row, (text, answer) in enumerate(zip(TEXTS, ANSWERS, strict=True)):
        np.testing.assert_allclose(
            values(found, measure)[row], by_hand(model, text, answer, keep=keep), atol=1e-6
        )


def orders_of(model: Model, text: str, answer: str) -> Iterator[np.ndarray]:
    """AOPC over every k of all orders of the words, (orders, T)."""
    words = text.split()
    full = np.exp(scores(model, words, answer))
    known = {
        kept: np.exp(scores(model, [words[place] for place in kept], answer))
        for size in range(1, len(words))
        for kept in itertools.combinations(range(len(words)), size)
    }
    for order in itertools.permutations(range(len(words))):
        yield np.mean([full - known[tuple(sorted(order[k:]))] for k in range(1, len(words))], axis=0)


def test_normalized_aopc_lies_between_all_orders(model: Model, found: Faithfulness) -> None:
    text, answer = TEXTS[1], ANSWERS[1]
    every = np.array(list(orders_of(model, text, answer)))
    weights = model.score(text, answer).trace.attention["source"]  # type: ignore[union-attr]
    orders = list(itertools.permutations(range(4)))
    for step, row in enumerate(weights):
        mine = every[orders.index(tuple(np.argsort(-row).tolist())), step]
        low, high = every[:, step].min(), every[:, step].max()
        assert values(found, "normalized AOPC")[1][step] == pytest.approx(
            (mine - low) / (high - low), abs=1e-6
        )


def test_a_beam_finds_the_bounds_of_a_short_input(model: Model) -> None:
    from regard.questions.faithfulness.normalized import all_sets, beam_bounds, exact_bounds
    from regard.questions.faithfulness.removal import Removal
    from regard.questions.faithfulness.rows import Examined

    removal = Removal(Examined.of(model, [TEXTS[0]], targets=ANSWERS[:1]))
    (one,) = removal.looked.values()
    removal.need((one, kept) for kept in all_sets(one.positions))
    low, high = exact_bounds(removal, one)
    lower, higher = beam_bounds(removal, one, width=50)
    np.testing.assert_allclose(lower, low, atol=1e-9)
    np.testing.assert_allclose(higher, high, atol=1e-9)


def test_removing_one_word_tells_polarity_and_harm(model: Model, found: Faithfulness) -> None:
    for row, (text, answer) in enumerate(zip(TEXTS, ANSWERS, strict=True)):
        words, full = text.split(), scores(model, text.split(), answer)
        lost = np.array([full - scores(model, words[:s] + words[s + 1 :], answer) for s in range(len(words))])
        for piece in (piece for piece in found.pieces if piece.row == row):
            assert piece.effect == pytest.approx(lost[piece.position, piece.step], abs=1e-5)
            assert piece.values["raises"]["attention"] == (lost[piece.position, piece.step] > 0)
            assert piece.values["raises"]["random"] == pytest.approx((lost[:, piece.step] > 0).mean())
            costs = [math.exp(full[piece.step]) * (1 - math.exp(-one)) for one in lost[:, piece.step]]
            first = piece.values["first removal"]
            assert first["attention"] == pytest.approx(costs[piece.position], abs=1e-5)
            assert first["leave-one-out"] == pytest.approx(max(costs), abs=1e-5)
            assert first["random"] == pytest.approx(sum(costs) / len(costs), abs=1e-5)
            if max(costs) < 0.05:
                assert "most harmful" not in piece.values
            else:
                worst = costs[piece.position] >= max(costs) - 0.05
                assert piece.values["most harmful"]["attention"] == worst


@pytest.mark.parametrize("seed", [0, 4])
def test_gradient_times_input_is_the_effect_of_scaling_a_vector(seed: int) -> None:
    from regard.questions.faithfulness.gradients import gradient_times_input
    from regard.questions.faithfulness.rows import Examined

    model = make(seed=seed)
    examined = Examined.of(model, [TEXTS[0], TEXTS[2]], targets=[ANSWERS[0], ANSWERS[2]])
    tables = gradient_times_input(examined, examined.looked())
    embedding = model.network.reader("source").embedding.weight
    words, small = TEXTS[0].split(), 1e-2
    for place, word in enumerate(words):
        unit = int(model.columns["source"].encode(word)[0])
        with torch.no_grad():
            before = embedding[unit].clone()
            embedding[unit] *= 1 + small
        higher = scores(model, words, ANSWERS[0])
        with torch.no_grad():
            embedding[unit] = before * (1 - small)
        lower = scores(model, words, ANSWERS[0])
        with torch.no_grad():
            embedding[unit] = before
        slope = (higher - lower) / (2 * small)
        np.testing.assert_allclose(tables[0, "source"][:, place], slope, rtol=0.02, atol=5e-3)


def test_gradient_times_input_of_an_image_is_the_effect_of_scaling_a_cell() -> None:
    from regard.questions.faithfulness.gradients import gradient_times_input
    from regard.questions.faithfulness.rows import Examined

    small, place = 1e-2, 5
    data = world("scenes", task="caption", train=2, dev=0, test=0, crowded=0).splits()["train"]
    described = Spec.parse(
        {
            "inputs": {"image": {"type": "image", "size": 32}},
            "outputs": {"caption": {"type": "text", "unit": "word"}},
            "encoder": {"type": "image", "network": {"type": "resnet", "channels": [4, 4, 6], "stride": 8}},
            "attention": {"score": "additive"},
            "decoder": {"size": 7, "embedding": 6, "condition": ["attention"]},
        }
    )
    torch.manual_seed(2)
    columns = make_columns(described)
    fit_columns(columns, described, lambda: data)
    model = Model.build(described, columns).eval()
    with torch.no_grad():
        for weight in model.network.decoders.parameters():
            weight.mul_(2.5)
    image, caption = data[0]["image"], data[0]["caption"]
    examined = Examined.of(model, [image], targets=[caption])
    table = gradient_times_input(examined, examined.looked())[0, "image"]

    def scored(scale: float) -> Array:
        def scaled(module: object, given: object, memory: Memory) -> Memory:
            values = memory.values.clone()
            values[:, place] *= scale
            return replace(memory, values=values)

        hook = model.network.reader("image").register_forward_hook(scaled)
        trace = model.score([image], [caption])[0].trace
        hook.remove()
        assert trace is not None
        return trace.scores

    slope = (scored(1 + small) - scored(1 - small)) / (2 * small)
    assert table.shape == (len(slope), 16) and np.abs(slope).max() > 1e-3
    np.testing.assert_allclose(table[:, place], slope, rtol=0.02, atol=5e-4)


def test_soft_measures_with_all_and_no_features(model: Model) -> None:
    from regard.questions.faithfulness.rows import Examined
    from regard.questions.faithfulness.soft import Soft, soft_scores

    examined = Examined.of(model, [TEXTS[0]], targets=ANSWERS[:1])
    (one,) = examined.looked()
    half = np.array([1, 1, 0, 0, 1, 1.0])
    whole, none, some = (
        soft_scores(examined, [Soft(one, 0, k) for k in (np.ones(6), np.zeros(6), half)], 1) or []
    )
    np.testing.assert_allclose(whole, one.scores, atol=1e-5)
    embedding = model.network.reader("source").embedding.weight
    before = embedding.detach().clone()
    try:
        with torch.no_grad():
            embedding[[int(model.columns["source"].encode(word)[0]) for word in ("cat", "sees")]] = 0
        np.testing.assert_allclose(some, scores(model, TEXTS[0].split(), ANSWERS[0]), atol=1e-5)
        with torch.no_grad():
            embedding.zero_()
        np.testing.assert_allclose(none, scores(model, TEXTS[0].split(), ANSWERS[0]), atol=1e-5)
    finally:
        with torch.no_grad():
            embedding.copy_(before)


def test_uniform_attention_does_not_change_when_it_is_made_uniform(found: Faithfulness) -> None:
    even = regard.faithful(make(select="uniform"), list(TEXTS), targets=ANSWERS, normalize="none")
    assert max(x for row in values(even, "uniform TVD") for x in row) < 1e-6
    assert max(x for row in values(even, "permuted JSD") for x in row) < 1e-6
    assert min(x for row in values(found, "uniform TVD") for x in row) > 1e-4
    assert max(x for row in values(found, "permuted JSD") for x in row) <= math.log(2)


def test_masked_words_become_unknown(model: Model) -> None:
    masked = regard.faithful(model, TEXTS[1], targets=ANSWERS[1:2], remove="mask", normalize="none")
    words = TEXTS[1].split()
    for piece in masked.pieces:
        written = [word if place != piece.position else "zebra" for place, word in enumerate(words)]
        lost = piece.log_p - scores(model, written, ANSWERS[1])[piece.step]
        assert piece.effect == pytest.approx(lost, abs=1e-5)


def test_zeroed_attention_is_an_edit_of_every_step(model: Model) -> None:
    zeroed = regard.faithful(model, TEXTS[1], targets=ANSWERS[1:2], remove="zero", normalize="none")
    for piece in zeroed.pieces:
        look = [{"edit": "zero", "positions": [piece.position]}]
        scored = model.score(TEXTS[1], ANSWERS[1], look=look)
        assert piece.effect == pytest.approx(piece.log_p - scored.trace.scores[piece.step], abs=1e-5)  # type: ignore[union-attr]


def test_distances_and_rank_correlation() -> None:
    first, second = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert total_variation(first, second) == pytest.approx(0.5)
    assert jensen_shannon(first, second) == pytest.approx(0.5 * math.log(2))
    assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(math.log(2))
    generator = np.random.default_rng(0)
    for _ in range(5):
        one, two = generator.integers(4, size=8), generator.normal(size=8)
        assert kendall(one.astype(float), two) == pytest.approx(kendalltau(one, two).statistic)
    assert math.isnan(kendall(np.ones(4), np.arange(4.0)))


def test_an_interval_resamples_whole_answers() -> None:
    sums = np.array([[3.0, 2.0], [0.0, 1.0], [5.0, 5.0], [0.0, 0.0]])
    counts = resampled_rows(4, seed=2, samples=4000)
    interval = mean_interval(sums, counts)
    generator = np.random.default_rng(5)
    drawn = [sums[generator.integers(4, size=4)].sum(0) for _ in range(20000)]
    means = np.array([total / number for total, number in drawn if number])
    assert interval.value == pytest.approx(1.0)
    assert interval.count == 8
    assert interval.low == pytest.approx(np.percentile(means, 2.5), abs=0.05)
    assert interval.high == pytest.approx(np.percentile(means, 97.5), abs=0.05)
    assert math.isnan(mean_interval(sums[:1], counts[:, :1]).low)


def piece(row: int, step: int, attention: float, best: float, random: float = 0.1) -> PieceMeasures:
    costs = {"first removal": {"attention": attention, "leave-one-out": best, "random": random}}
    return PieceMeasures(row, "x", step, "y", -0.1, 0, "w", 0.9, 1.0, costs)


def test_an_answer_is_flagged_unless_it_captures_more_than_half_beyond_doubt() -> None:
    honest = [piece(0, step, 0.9, 0.9 + 0.01 * step) for step in range(5)]
    even = [piece(1, step, 0.1 + 0.1 * (-1) ** step, 0.9) for step in range(6)]
    shifted = [piece(2, step, 0.4, 0.9) for step in range(5)]
    unsure = [piece(3, step, 0.9 if step else -0.9, 0.9) for step in range(4)]
    short = [piece(4, step, 0.1, 0.4) for step in range(2)]
    independent = [piece(5, step, 0.1, 0.1) for step in range(4)]
    pieces = [*honest, *even, *shifted, *unsure, *short, *independent]
    assert flagged(pieces) == {0: False, 1: True, 2: True, 3: True}


def test_the_table_compares_with_random_and_pairs(model: Model, found: Faithfulness) -> None:
    line = found.measured("sufficiency")
    assert line is not None and line.gain is not None and line.random is not None
    flat = [x for row in values(found, "sufficiency") for x in row]
    by_chance = [x for row in values(found, "sufficiency", "random") for x in row]
    assert line.value.value == pytest.approx(np.mean(flat))
    assert line.gain.value == pytest.approx(np.mean(by_chance) - np.mean(flat))
    assert all(pair.difference.value == 0 for pair in found.against(found))
    other = regard.faithful(make(seed=5), list(TEXTS), targets=ANSWERS, normalize="none", seed=3)
    pair = next(one for one in found.against(other) if one.measure == "comprehensiveness")
    gains = [one.measured("comprehensiveness").gain.value for one in (found, other)]  # type: ignore[union-attr]
    assert pair.difference.value == pytest.approx(gains[1] - gains[0])


def test_results_go_to_json_and_back(found: Faithfulness, tmp_path: object) -> None:
    again = Faithfulness.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    assert "<svg" in again._repr_html_()


def test_figures_say_their_numbers(found: Faithfulness) -> None:
    drawn = found.plot()
    line = found.measured("comprehensiveness")
    assert line is not None
    assert f"{line.value.value:.3f}" in drawn.svg()
    assert "random" in drawn.description
    assert "model 2, random" in found.plot(found).description


def test_seeds_make_results_again(model: Model, found: Faithfulness) -> None:
    again = regard.faithful(model, list(TEXTS), targets=ANSWERS, seed=3)
    for one, two in zip(again.table, found.table, strict=True):
        assert (one.measure, one.method) == (two.measure, two.method)
        assert one.value.value == pytest.approx(two.value.value, abs=1e-5)


def test_progress_counts_up_and_may_stop_it(model: Model) -> None:
    seen: list[tuple[int, int]] = []
    regard.faithful(model, TEXTS[1], targets=ANSWERS[1:2], progress=lambda done, of: seen.append((done, of)))
    assert seen and all(done <= of for done, of in seen)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regard.faithful(model, TEXTS[1], targets=ANSWERS[1:2], progress=stop)


def test_what_cannot_be_measured_says_so(model: Model) -> None:
    with pytest.raises(RegardError, match="at least two positions"):
        regard.faithful(model, "cat", targets=["A"])
    with pytest.raises(RegardError, match="there are no inputs"):
        regard.faithful(model, [])
    with pytest.raises(RegardError, match="draws is 0"):
        regard.faithful(model, TEXTS[0], draws=0)
