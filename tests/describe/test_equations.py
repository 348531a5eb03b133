"""`regard describe` prints what networks compute: every zoo system, evaluated with its own weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import zoo
from regard.describe import answers
from regard.describe.six_answers import memory_symbols, read_by
from regard.nn.adaptive import probabilities
from regard.nn.decoders import (
    ConstituentsDecoder,
    ContinuingDecoder,
    CRFDecoder,
    CTCDecoder,
    DecomposableDecoder,
    FeedForwardDecoder,
    MachineDecoder,
    MemoryNetworkDecoder,
    MultilabelDecoder,
    NumberDecoder,
    OrdinalDecoder,
    PointerDecoder,
    RecurrentDecoder,
    SpanDecoder,
    TagsDecoder,
    TreeDecoder,
    WordByWordDecoder,
)
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.packing import forced
from regard.spec import Spec
from regard.structures import BinaryTree
from regard.testing.board import Board
from regard.testing.board.listing import Configuration, sequences, trees
from tests.describe.boards import SECTIONS, Evaluated, evaluated, stacked
from tests.describe.small import made, one_row
from tests.describe.variants import variants


def same(found: Tensor, truth: Tensor, what: str) -> None:
    torch.testing.assert_close(
        found.double(), truth.double(), rtol=1e-6, atol=1e-6, msg=lambda text: f"{what}: {text}"
    )


def check_encoders(spec: Spec, done: Evaluated) -> None:
    symbols = memory_symbols(spec)
    for name, options in spec.encoder.items():
        owner = options.part.owner(options)
        board, written = (done.board, symbols[name]) if owner is None else (done.apart[name], symbols[owner])
        memory, hops = done.memories[name], getattr(options, "hops", None) or 1
        same(stacked(board, written.values, hops), memory.values[0], f"{name}: {written.values}")
        same(board(written.summary), memory.summary[0], f"{name}: {written.summary}")
        if memory.keys is not None:
            same(stacked(board, written.key, hops), memory.keys[0], f"{name}: {written.key}")
        assert board is done.board or not board.unused()


def check_decoder(
    board: Board, place: int, decoder: Any, memories: Any, truth: Any, target: Any, spec: Any
) -> None:
    """place: number of primes of the decoder's symbols."""
    y = "y" + "′" * place
    if isinstance(decoder, ContinuingDecoder):
        rows, _ = decoder.read(target.before, None)
        same(board.all("p(y_t)"), probabilities(decoder.output, rows).exp(), "p(y_t)")
    elif isinstance(decoder, MachineDecoder):
        check_machine(board, decoder, memories)
    elif isinstance(decoder, RecurrentDecoder):
        check_words(board, place, decoder, memories, truth, target, spec)
    elif isinstance(decoder, TransformerDecoder | FeedForwardDecoder):
        found = decoder.distribution(memories, target)
        same(board.all(f"p({y}_t{'′' * place})"), found, f"p({y}_t)")
    elif isinstance(decoder, CTCDecoder):
        found = decoder.score(memories, target).scores[0].exp()
        assert found > 0
        same(board(f"p({y})"), found, f"p({y})")
    elif isinstance(decoder, CRFDecoder):
        chain = decoder.chain(memories[decoder.of])
        for tags in sequences(range(1, len(decoder.start) + 1), target.ids.shape[1])[::7]:
            value = chain.value_of(torch.tensor([[tag - 1 for tag in tags]]))
            same(board(f"p({y})", **{y: tags}), chain.log_prob(value)[0].exp(), f"p({tags})")
    elif isinstance(decoder, ConstituentsDecoder):
        check_constituents(board, decoder, memories[decoder.of])
    elif isinstance(decoder, TreeDecoder):
        check_trees(board, decoder, memories[decoder.of])
    elif isinstance(decoder, PointerDecoder):
        found = torch.softmax(decoder.scores(memories, target)[0], -1)
        same(board.all(f"p({y}_t{'′' * place})"), found, "p(y_t)")
    elif isinstance(decoder, TagsDecoder):
        (memory,) = read_by(spec, decoder_name(spec, place)).values()
        found = decoder.predict(memories).log_probabilities[0].exp()
        same(board.all(f"p({y}_{memory.index})"), found, "p(y_j)")
    elif isinstance(decoder, SpanDecoder):
        j = next(iter(read_by(spec, decoder_name(spec, place)).values())).index
        found, chances = decoder(memories)[0].exp(), board.all(f"p{'′' * place}_{j}k{'′' * place}")
        for first in range(len(found)):
            for more in range(min(decoder.longest, len(found) - first)):
                same(chances[first, first + more], found[first, more], f"p of {first} to {first + more}")
        same(chances.sum(), torch.tensor(1.0), "the sum of all spans")
    elif isinstance(decoder, MultilabelDecoder):
        answer, primes = decoder.predict(memories), "′" * place
        same(board.all(f"p{primes}_k{primes}"), answer.log_probabilities[0, :, 1].exp(), "p_k")
        written = read_by(spec, decoder_name(spec, place))
        for number, (name, looks) in enumerate(answer.attention.items()):
            weight = f"α{primes}{'′' * number}_k{primes}{written[name].index}"
            same(board.all(weight), looks[0], weight)
    elif isinstance(decoder, OrdinalDecoder):
        answer = decoder.predict(memories)
        same(board.all(f"p{'′' * place}_i{'′' * place}"), answer.log_probabilities[0].exp(), "p_i")
        check_looks(board, place, decoder, memories, answer, spec)
    elif isinstance(decoder, NumberDecoder):
        answer = decoder.predict(memories)
        same(board("μ" + "′" * place), answer.value[0], "μ")
        check_looks(board, place, decoder, memories, answer, spec)
    else:
        answer = decoder.predict(memories)
        same(board(f"p({y})"), answer.log_probabilities[0].exp(), f"p({y})")
        check_looks(board, place, decoder, memories, answer, spec)


def check_machine(board: Board, decoder: Any, memories: Any) -> None:
    found = decoder.predict(memories)
    same(board.all("p_t"), torch.sigmoid(found.logits[found.mask]), "p_t")
    if decoder.store is not None:
        weights = "w_jkr" if decoder.store.Options.type == "ntm" else "w_jk"
        last = board.all(weights + ("ι" if decoder.store.Options.type == "lie" else "ℓ"))[-1]
        same(last, found.looks["read"][-1][0], weights)


def decoder_name(spec: Spec, place: int) -> str:
    return list(spec.outputs)[place]


def check_words(
    board: Board, place: int, decoder: Any, memories: Any, truth: Any, target: Any, spec: Any
) -> None:
    primes, written = "′" * place, read_by(spec, decoder_name(spec, place))
    previous, _, packing = forced(target)
    unrolled = decoder.unroll(memories, previous, packing, truth=truth)
    if decoder.copying is None:
        found = torch.softmax(decoder.output(unrolled.readouts), -1)
    else:
        found = decoder.distribution(memories, target)
    same(board.all(f"p(y{primes}_t{primes})"), found, "p(y_t)")
    for number, (name, looks) in enumerate(unrolled.looks.items()):
        weight = f"α{primes}{'′' * number}_t{primes}{written[name].index}"
        if name in decoder.by_words:
            sentences = torch.bincount(memories[name].parent_index[0]).tolist()
            for t, row in enumerate(looks, 1):
                pairs = [(j, m) for j, count in enumerate(sentences, 1) for m in range(1, count + 1)]
                same(torch.stack([board(f"α_{{{t},{j},{m}}}") for j, m in pairs]), row, weight)
        else:
            same(board.all(weight), looks, weight)


def check_trees(board: Board, decoder: Any, memory: Any) -> None:
    vectors, words = decoder.vectors(memory), memory.values.shape[1]
    distribution = decoder.distribution(vectors, torch.tensor([words]))
    for heads in trees(decoder.structure, words):
        value, mask = torch.tensor([heads]), torch.ones(1, words, dtype=torch.bool)
        same(
            board("p(y)", y=Configuration(heads)),
            decoder._log_prob(distribution, value, mask)[0].exp(),
            f"p({heads})",
        )
        relations = decoder.relation_scores(vectors, value)[0].exp()
        for word, head in enumerate(heads, start=1):
            same(board(f"ρ_{{{head},{word}}}"), relations[word - 1], "ρ")


def check_constituents(board: Board, decoder: Any, memory: Any) -> None:
    (scores,) = decoder.distribution(memory).potentials
    words = memory.values.shape[1]
    distribution = BinaryTree(scores.logsumexp(-1))
    for y in trees("binary", words):
        same(board("p(y)", y=y), distribution.log_prob(torch.tensor([y]))[0].exp(), f"p({y})")
    for i in range(words):
        for j in range(i, words):
            same(board(f"ρ_{{{i + 1},{j + 1}}}"), scores[0, i, j].softmax(-1), "ρ")


def check_looks(board: Board, place: int, decoder: Any, memories: Any, answer: Any, spec: Any) -> None:
    primes, written = "′" * place, read_by(spec, decoder_name(spec, place))
    if isinstance(decoder, DecomposableDecoder):
        one, other = (memory.index for memory in written.values())
        looks = board.all(f"α{primes}_{one}{other}").mean(0)
        same(looks, answer.attention[decoder.names[1]][0, 0], "α")
    elif isinstance(decoder, MemoryNetworkDecoder):
        j = written[decoder.story].index
        found = decoder._looks(memories, False)
        for facts, looks in enumerate(found, start=decoder.hops + 1 - len(found)):
            weights = board.all(f"α_k{j}") if len(found) == 1 else board.all(f"α_ℓk{j}")[facts - 2]
            same(weights, looks.weights[0], f"α of {facts} facts")
    elif isinstance(decoder, WordByWordDecoder):
        one, other = (memory.index for memory in written.values())
        same(board.all(f"α{primes}_{other}{one}"), answer.attention[decoder.first][0], "α")
    elif decoder.reading is not None:
        step = f"k{primes}" if decoder.glimpses > 1 else ""
        for number, name in enumerate(decoder.reading.names):
            weight = f"α{primes}{'′' * number}_{step}{written[name].index}"
            same(board.all(weight).reshape(decoder.glimpses, -1), answer.attention[name][0], weight)


def check_loss(board: Board, place: int, decoder: Any, memories: Any, truth: Any, target: Any) -> None:
    loss = decoder.loss(memories, target, truth=truth or None)
    same(board("loss" + "′" * place), loss.mean, "loss")


def check(name: str, more: list[str], wrong: tuple[str, str] | None = None) -> None:
    network, spec, columns = made(name, more)
    batch = one_row(spec, columns)
    done = evaluated(network, spec, batch, wrong)
    check_encoders(spec, done)
    for place, (output, decoder) in enumerate(network.decoders.items()):
        given, truth, target = done.given[output], done.truth[output], batch[output]
        check_decoder(done.board, place, decoder, given, truth, target, spec)
        check_loss(done.board, place, decoder, given, truth, target)
    if (penalty := network.penalty()) is not None:
        same(done.board("penalty"), penalty, "penalty")
    shared = {one for name in done.apart for one in vars(memory_symbols(spec)[name]).values()}
    unused = done.board.unused() - shared
    assert not unused, f"not on the board: {', '.join(sorted(unused))}"


@pytest.mark.parametrize("name", zoo.names())
@torch.no_grad()
def test_the_board_says_what_the_network_computes(name: str) -> None:
    check(name, [])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("variant", variants(), ids=" ".join)
@torch.no_grad()
def test_so_do_the_boards_of_other_options(variant: list[str]) -> None:
    check(variant[0], variant[1:])


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("translation", "→h_{j−1}, x_j", "→h_{j−1}, 2 x_j"),
        ("translation", "r ⊙ (U_ny h + c_ny)", "r ⊙ U_ny h"),
        ("translation", "/ T ", "/ 2 "),
        ("speech-location", "α_0j = [j = 1]", "α_0j = [j = 2]"),
        ("speech", "[h_{l−1,2m−1}; h_{l−1,2m}]", "[h_{l−1,2m}; h_{l−1,2m−1}]"),
        ("caption", "relu(past_l(x) +", "relu(2 past_l(x) +"),
        ("caption-hard", "argmax_j", "argmin_j"),
        ("formula", "+ C_x[χ_j]", ""),
        ("formula", "− 0.5 Σ_t", "− 0.4 Σ_t"),
        ("video-caption-local", "x_j − x_{j−1}", "x_{j−1} − x_j"),
        ("image-class", "2a / 3", "a / 2"),
        ("image-qa-attention", "r_3 = tanh", "r_3 = relu"),
        ("image-qa-attention", "[s′_t′; c′_t′]", "[s′_{t′−1}; c′_t′]"),
        ("topics", "(1 − y_k) log", "y_k log"),
        ("spans", "[k < j + 4]", "[k < j + 3]"),
        ("spans", "[j = y_2]", "[j = y_1]"),
        ("stars", "F_i − F_{i−1}", "F_i"),
        ("topics", "U_a q_k", "U_a q_1"),
        ("tagger-crf", "a_y[y_1] + ", ""),
        ("tagger-crf", " + z_y[y_S]", ""),
        ("parser-crf", " + g_y·u_yp", ""),
        ("parser-constituents", "[κ(y) = 0] ", ""),
        ("facts", "u_k = H_y u_{k−1}", "u_k = u_{k−1}"),
        ("facts-structured", "+ 0.3 ℓ", "+ 99 ℓ"),
        ("facts-structured", "+ Σ_ℓ (d_ℓ − c_ℓ)²", ""),
        ("nli-syntax", "/ √8 + v_h·b_p", "/ √8"),
        ("nli-syntax", "a_j = √12 g_j", "a_j = g_j"),
        ("nli-parent", "[p = τ_j]", "[p = j]"),
        ("pointer-hull", "[j = y_{t−1}]", "[j = y_t]"),
        ("pointer-hull", "(w_j − m_e) / d_e", "w_j"),
        ("ntm-copy", "ς_jka[1] q_{j,k,a,ℓ+1}", "ς_jka[1] q_{j,k,a,ℓ−1}"),
        ("ntm-copy", "w_{j−1,k,r,ℓ}", "w_{j−1,k,a,ℓ}"),
        ("dnc", "[u_jι < u_jℓ]", "[u_jι > u_jℓ]"),
        ("dnc", "η_{j−1,ι}", "η_jι"),
        ("lie-access", "(1 − g_jkr) x_{j−1,k,r}", "(1 − g_jkr) x_{j−1,a}"),
        ("translation-segments-char", "/ γ_t", ""),
        ("lm-word", "n_{t−1}, E_y[y_{t−1}]", "n_{t−1}, E_y[y_t]"),
        ("lm-window", "E_y[y_{t−3}]", "E_y[y_{t−2}]"),
        ("translation-segments-char", "0.005 (", "0.05 ("),
    ],
)
@torch.no_grad()
def test_a_wrong_board_is_noticed(name: str, right: str, wrong: str) -> None:
    with pytest.raises(AssertionError, match=r"close|not on the board"):
        check(name, [], (right, wrong))


@pytest.mark.parametrize("name", zoo.names())
def test_lines_are_short(name: str) -> None:
    found = answers(zoo.find(name))
    assert not [line for section in SECTIONS for line in found[section] if len(line) > 115]
