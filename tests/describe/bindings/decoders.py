"""Decoders, and the true outputs and true attention that their losses compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch

from regard.data.batch import BEGIN, END, UNLABELED
from regard.nn.adaptive import AdaptiveOutput
from regard.nn.combining import Beside, Gated
from regard.nn.decoders import (
    ConstituentsDecoder,
    ContinuingDecoder,
    CRFDecoder,
    CTCDecoder,
    DecomposableDecoder,
    FeedForwardDecoder,
    LabelDecoder,
    MachineDecoder,
    MemoryNetworkDecoder,
    MemoryRetrievalDecoder,
    MultilabelDecoder,
    NodesDecoder,
    NumberDecoder,
    OrdinalDecoder,
    PointerDecoder,
    RecurrentDecoder,
    RetrievalDecoder,
    SoftLabelDecoder,
    SpanDecoder,
    TagsDecoder,
    TreeDecoder,
    WindowDecoder,
    WordByWordDecoder,
)
from regard.nn.decoders.stream_transformer import StreamTransformer
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.mean_position import _places
from regard.nn.memory import Memory
from regard.nn.scores.two_level import TwoLevel
from regard.nn.selections import Softmax
from regard.nn.stores import LieStore, NTMStore
from regard.nn.symbols import MemorySymbols
from regard.testing.board import Family
from regard.testing.board.listing import Configuration
from tests.describe.bindings.cells import Binding, of_attention, of_cell
from tests.describe.bindings.transformers import of_decoder_layers, of_stream_layers


def of_decoder(
    decoder: Any,
    options: Any,
    given: Mapping[str, Memory],
    symbols: Mapping[str, MemorySymbols],
    target: Any,
    truth: Mapping[str, Any],
) -> Binding:
    """given, symbols: the memories and their symbols; truth: true attention by memory, (1, T, S)."""
    if isinstance(decoder, ContinuingDecoder):
        return of_stream(decoder, options, target)
    j = next(iter(symbols.values())).index
    if isinstance(decoder, MachineDecoder):
        return of_machine(decoder, given, target)
    if isinstance(decoder, RecurrentDecoder):
        found = of_recurrent(decoder, options, symbols, decoder.targets(given, target), truth)
        return found | of_copying(decoder, given, symbols)
    if isinstance(decoder, FeedForwardDecoder):
        return of_feed_forward(decoder, options, symbols, target, truth)
    if isinstance(decoder, PointerDecoder):
        return of_pointer(decoder, options, target)
    if isinstance(decoder, CTCDecoder):
        return of_ctc(decoder, target)
    if isinstance(decoder, TransformerDecoder):
        return of_words(decoder, options, target) | of_decoder_layers(decoder)
    if isinstance(decoder, ConstituentsDecoder):
        return of_constituents(decoder, target, j)
    if isinstance(decoder, TreeDecoder):
        return of_tree(decoder, target, j)
    if isinstance(decoder, NumberDecoder):
        numbers = {"m_y": decoder.mean, "d_y": decoder.spread, "π": math.pi, "b_y": decoder.output.bias[0]}
        found: Binding = {name: torch.as_tensor(number).double() for name, number in numbers.items()}
        found |= {"y": target[0], "v_y": decoder.output.weight[0], "u_y": decoder.log_deviation.exp()}
        return found | of_label(decoder, given, symbols, truth)
    if isinstance(decoder, SpanDecoder):
        return of_span(decoder, target)
    if isinstance(decoder, MultilabelDecoder):
        return of_multilabel(decoder, symbols, target, truth)
    if isinstance(decoder, OrdinalDecoder):
        found = {
            "v_y": decoder.output.weight[0],
            "θ_yi": decoder.thresholds,
            "C": len(decoder.thresholds) + 1,
        }
        return found | {"y": target[0] + 1} | of_label(decoder, given, symbols, truth)
    found = {"V_y": decoder.output.weight, "b_y": decoder.output.bias}
    if isinstance(decoder, NodesDecoder):
        return found | {f"y_{j}": target.labels[0] + 1}
    if isinstance(decoder, TagsDecoder):
        return found | {f"y_{j}": target.ids[0] + 1}
    if isinstance(decoder, CRFDecoder):
        return found | of_crf(decoder, target)
    if isinstance(decoder, SoftLabelDecoder):
        found |= {"C": target.shape[1], "y_i": target[0]}
        return found | of_label(decoder, given, symbols, truth)
    found["y"] = target[0] + 1
    if isinstance(decoder, MemoryRetrievalDecoder | RetrievalDecoder) and decoder.candidates is not None:
        listed = decoder.candidates
        found |= {"C": len(listed.ids), "M_i": listed.lengths, "v_in": listed.ids + 1}
        if not getattr(options, "tie", False):
            found["E_y"] = listed.bag.embedding.weight
    if isinstance(decoder, LabelDecoder | RetrievalDecoder):
        return found | of_label(decoder, given, symbols, truth)
    if isinstance(decoder, MemoryNetworkDecoder):
        return found | of_memory_network(decoder, truth)
    if isinstance(decoder, WordByWordDecoder):
        found |= {"W_g": decoder.gather.weight, "b_g": decoder.gather.bias}
        found |= {} if decoder.ask is None else {"Q_y": decoder.ask.weight}
        if decoder.onward is not None:
            found |= {"W_t": decoder.onward.weight, "r_0": torch.zeros_like(decoder.onward.weight[0])}
        else:
            zeros = torch.zeros(decoder.cell.size).double()
            found |= of_cell(decoder.cell, "y") | {
                "r_0": zeros,
                **({"m_0": zeros} if decoder.cell.carries else {}),
            }
        return found | of_attention(decoder.reading.attention(decoder.first))
    if isinstance(decoder, DecomposableDecoder):
        return found | of_decomposable(decoder)
    raise TypeError(f"{type(decoder).__name__} has no binding")


def of_words(m: RecurrentDecoder | TransformerDecoder, options: Any, target: Any) -> Binding:
    """The target, its embeddings and the weights of the output layer."""
    ids = torch.tensor([BEGIN, *target.ids[0].tolist(), END]) + 1
    found: Binding = {"T": len(ids) - 1, "y": Family(ids, (0,)), "b_y": m.output.bias}
    if options.tie != "all":
        found["E_y"] = m.embedding.weight
    if options.tie == "none":
        found["V_y"] = m.output.weight
    return found


def of_ctc(m: CTCDecoder, target: Any) -> Binding:
    ids = torch.tensor([BEGIN, BEGIN, *target.ids[0].tolist()]) + 1
    bias = m.output.bias.detach().clone()
    bias[[BEGIN, END]] = -torch.inf
    return {"T": len(ids) - 2, "y": Family(ids, (-1,)), "V_y": m.output.weight, "b_y": bias}


def of_stream(m: Any, options: Any, target: Any) -> Binding:
    """A text from its beginning, preceded by as many BEGIN as the decoder reads."""
    order = getattr(options, "order", 1)
    ids = torch.tensor([BEGIN] * order + target.ids[0].tolist()) + 1
    found: Binding = {
        "T": target.ids.shape[1],
        "y": Family(ids, (1 - order,)),
        "E_y": m.embedding.weight,
    }
    if isinstance(m.output, AdaptiveOutput):
        head, tails = m.output.softmax.head, m.output.softmax.tail
        units = head.out_features - len(tails)
        found |= {"C": units, "V_y": head.weight[:units], "b_y": head.bias[:units]}
        for k, (project, tail) in enumerate(tails, start=1):
            found |= {f"u_{k}": head.weight[units + k - 1], f"d_{k}": head.bias[units + k - 1]}
            found |= {f"P_{k}": project.weight, f"V_{k}": tail.weight}
    else:
        found |= {"b_y": m.output.bias} | ({"V_y": m.output.weight} if options.tie == "none" else {})
    if m.narrow is not None:
        found["N_y"] = m.narrow.weight
    if isinstance(m, WindowDecoder):
        return found | {"W_h": m.hidden.weight, "b_h": m.hidden.bias}
    if isinstance(m, StreamTransformer):
        return found | of_stream_layers(m)
    layers = len(m.cells)
    for number in range(layers):
        found |= of_cell(m.cell(number), "s" if layers == 1 else f"s,{number + 1}")
    return found


def of_recurrent(
    m: RecurrentDecoder, options: Any, symbols: Mapping[str, MemorySymbols], target: Any, truth: Any
) -> Binding:
    found = of_words(m, options, target)
    if m.combine is not None:
        found |= {"W_o": m.combine.weight, "b_o": m.combine.bias}
    if m.narrow is not None:
        found["N_y"] = m.narrow.weight
    if m.before is not None:
        found |= {"P_y": m.before.weight, "d_y": m.before.bias}
    if m.gate is not None:
        found |= {"G_y": m.gate.weight, "d_ρ": m.gate.bias}
    layers = len(m.stack.cells)
    letters = "sn" if options.cell.part.carries else "s"
    marks = [
        f"{letter}{number if layers > 1 else ''}" for number in range(1, layers + 1) for letter in letters
    ]
    for number in range(layers):
        found |= of_cell(m.stack.cell(number), "y" if layers == 1 else f"y,{number + 1}")
    for number, mark in enumerate(marks):
        if m.bridge is not None:
            found[f"W_{mark}"] = m.bridge.weight.chunk(len(marks))[number]
            found[f"b_{mark}"] = m.bridge.bias.chunk(len(marks))[number]
        elif m.first is not None:
            place = "0" if m.before is None else "{−1}"
            name = f"{mark[0]}_{{{mark[1:]},{place.strip('{}')}}}" if layers > 1 else f"{mark}_{place}"
            found[name] = m.first.chunk(len(marks))[number]
    names = m.reading.names if m.reading is not None else ()
    for place, name in enumerate(names):
        attention, primes = m.reading.attention(name), "′" * place  # type: ignore[union-attr]
        if isinstance(attention.score, TwoLevel):
            for mark, score in (("k", attention.score.sentences), ("a", attention.score.words)):
                one: Any = SimpleNamespace(
                    score=score, select=attention.select, query_size=attention.query_size
                )
                found |= of_attention(one, f"{mark}{primes}")
        else:
            found |= of_attention(attention, f"a{primes}")
        if name in m.reading.gates:  # type: ignore[union-attr]
            gate: Any = m.reading.gates[name]  # type: ignore[union-attr]
            found |= {f"w_β̂{primes}": gate.weight[0], f"b_β̂{primes}": gate.bias[0]}
        oracle = not attention.select.learns and "truth" in attention.select.needs
        if oracle or m.objective.guide.get(name):
            letter = "α" if oracle else "a"
            found[f"{letter}{primes}_t{symbols[name].index}"] = truth[name][0]
    return found


def of_feed_forward(
    m: FeedForwardDecoder, options: Any, symbols: Mapping[str, MemorySymbols], target: Any, truth: Any
) -> Binding:
    ids = torch.tensor([BEGIN] * m.order + target.ids[0].tolist() + [END]) + 1
    found: Binding = {"T": len(ids) - m.order, "y": Family(ids, (1 - m.order,)), "b_y": m.output.bias}
    found |= {"E_y": m.embedding.weight, "G_y": m.asking.weight, "V_y": m.output.weight}
    found |= {"U_y": m.hidden.weight, "b_u": m.hidden.bias}
    for place, name in enumerate(m.attended):
        primes = "′" * place
        if m.objective.guide.get(name):
            found[f"a{primes}_t{symbols[name].index}"] = truth[name][0]
        found |= of_attention(m.reading.attention(name), f"a{primes}")  # type: ignore[union-attr]
    return found


def of_copying(
    m: RecurrentDecoder, given: Mapping[str, Memory], symbols: Mapping[str, MemorySymbols]
) -> Binding:
    """The gate, and the word at each position as a one-hot vector."""
    if m.copying is None:
        return {}
    source = m.copying.source
    places = m.copying.places(given[source])[0]
    words = torch.eye(m.copying.vocabulary + len(places)).double()[places]
    gate = m.copying.gate
    found = {"w_g": gate.weight[0], "b_g": gate.bias[0]}
    owners, index = given[source].parent_index, symbols[source].index
    if owners is None:
        return found | {f"δ_{index}": words}
    counts = torch.bincount(owners[0]).tolist()
    table = torch.nn.utils.rnn.pad_sequence(list(words.split(counts)), batch_first=True)
    return found | {f"δ_{index}m": table, "W": len(places)}


def of_pointer(m: PointerDecoder, options: Any, target: Any) -> Binding:
    ids = torch.tensor([0, *target.ids[0].tolist(), 0])
    found: Binding = {"T": len(ids) - 1, "y": Family(ids, (0,)), "g_y": m.first, "k_y": m.stop}
    layers, letters = len(m.stack.cells), "sn" if options.cell.part.carries else "s"
    marks = [
        f"{letter}{number if layers > 1 else ''}" for number in range(1, layers + 1) for letter in letters
    ]
    for number in range(layers):
        found |= of_cell(m.stack.cell(number), "y" if layers == 1 else f"y,{number + 1}")
    for number, mark in enumerate(marks):
        found[f"W_{mark}"] = m.bridge.weight.chunk(len(marks))[number]
        found[f"b_{mark}"] = m.bridge.bias.chunk(len(marks))[number]
    return found | of_attention(m.pointing)


def of_crf(m: CRFDecoder, target: Any) -> Binding:
    start, moves, end = m.start, m.transitions, m.end
    if m.allowed is not None:
        start = start.masked_fill(~m.allowed[-1, :-1], -torch.inf)
        end = end.masked_fill(~m.allowed[:-1, -1], -torch.inf)
        moves = moves.masked_fill(~m.allowed[:-1, :-1], -torch.inf)
    true = Configuration(int(tag) + 1 for tag in target.ids[0])
    return {"C": len(m.start), "a_y": start, "A_y": moves, "z_y": end, "ŷ": true}


def of_constituents(m: ConstituentsDecoder, target: Any, j: str) -> Binding:
    spans, words = target.labels[0] != UNLABELED, target.labels.shape[1]
    known = {(i, k) for i in range(words) for k in range(words) if spans[i, k]}
    crossed = torch.zeros(words, words, dtype=torch.int64)
    for i in range(words):
        for k in range(i, words):
            crossed[i, k] = any(a < i <= b < k or i < a <= k < b for a, b in known)
    found: Binding = {
        "N": len(m.spans.weight),
        f"ŷ_p{j}": torch.where(spans, target.labels[0] + 2, 1),
        f"κ_p{j}": crossed,
    }
    for letter, side in (("u", m.spans.heads), ("v", m.spans.dependents)):
        found |= {f"W_{letter}y": side.weight, f"b_{letter}y": side.bias}
    weight = m.spans.weight
    return found | {
        "B_yν": weight[..., :-1, :-1],
        "g_yν": weight[..., :-1, -1],
        "d_yν": weight[..., -1, :-1],
        "b_yν": weight[..., -1, -1],
    }


def of_tree(m: TreeDecoder, target: Any, j: str) -> Binding:
    found: Binding = {"a_0": m.root, "ŷ": Configuration(target.heads[0].tolist())}
    for mark, output, biaffine in (("y", "y", m.arcs), ("r", "rν", m.relations)):
        if biaffine is None:
            continue
        for letter, side in (("u", biaffine.heads), ("v", biaffine.dependents)):
            found |= {f"W_{letter}{mark}": side.weight, f"b_{letter}{mark}": side.bias}
        weight = biaffine.weight if mark == "r" else biaffine.weight[0]
        found |= {
            f"B_{output}": weight[..., :-1, :-1],
            f"g_{output}": weight[..., :-1, -1],
            f"d_{output}": weight[..., -1, :-1],
            f"b_{output}": weight[..., -1, -1],
        }
    relations = 0 if m.relations is None else len(m.relations.weight)
    return found | {"N": relations, f"r_{j}": target.relations[0] + 1}


def of_span(m: SpanDecoder, target: Any) -> Binding:
    found: Binding = {"y_1": target[0, 0] + 1, "y_2": target[0, 1] + 1}
    if m.query is not None:
        found["q"] = m.query
    for mark, score in (("f", m.first), ("g", m.last)):
        one: Any = SimpleNamespace(score=score, select=Softmax(), query_size=0)
        found |= of_attention(one, mark)
    return found


def of_multilabel(
    m: MultilabelDecoder, symbols: Mapping[str, MemorySymbols], target: Any, truth: Any
) -> Binding:
    found: Binding = {
        "C": len(m.output.bias),
        "v_yk": m.output.weight,
        "b_yk": m.output.bias,
        "y_k": target[0],
    }
    if m.class_weights is not None:
        found["w_yk"] = m.class_weights.double()
    if m.query is not None:
        found["q_k" if m.asks is None else "u_k"] = m.query
    if m.asks is not None:
        found["Q_y"] = m.asks.weight
    for place, name in enumerate(() if m.reading is None else m.reading.names):
        primes = "′" * place
        found |= of_attention(m.reading.attention(name), f"a{primes}")  # type: ignore[union-attr]
        if m.guide:
            found[f"a{primes}_k{symbols[name].index}"] = truth[name][0]
    return found


def of_label(
    m: LabelDecoder | NumberDecoder | OrdinalDecoder | RetrievalDecoder | SoftLabelDecoder,
    given: Mapping[str, Memory],
    symbols: Mapping[str, MemorySymbols],
    truth: Any,
) -> Binding:
    found: Binding = {}
    if isinstance(m.hidden, Beside):
        found |= {"W_r": m.hidden.layer.weight, "b_r": m.hidden.layer.bias}
    if isinstance(m.hidden, Gated):
        parts: list[Any] = list(m.hidden.parts)
        for number, part in enumerate(parts):
            gates = m.hidden.gates
            found |= {f"W_r{number + 1}": part.weight, f"b_r{number + 1}": part.bias}
            found[f"U_r{number + 1}"] = gates.weight.chunk(len(parts))[number]
            found[f"c_r{number + 1}"] = gates.bias.chunk(len(parts))[number]
    if m.reading is None:
        return found
    step = "k" if m.glimpses > 1 else ""
    for place, name in enumerate(m.reading.names):
        primes, j = "′" * place, symbols[name].index
        found |= of_attention(m.reading.attention(name), f"a{primes}")
        if m.where:
            found[f"ξ{primes}_{j}"] = _places(given[name])[0]
        if m.guide and name in truth:
            found[f"a{primes}_{step}{j}"] = truth[name][0] if step else truth[name][0, 0]
    if m.query is not None:
        found |= {"q_k": m.query} if step else {"q": m.query[0]}
    if m.asks is not None:
        found["Q_yk"] = m.asks.weight.unflatten(0, (m.glimpses, -1))
        found["b_yk"] = m.asks.bias.unflatten(0, (m.glimpses, -1))
    return found


def of_memory_network(m: MemoryNetworkDecoder, truth: Any) -> Binding:
    found = of_attention(m.attention)
    if m.mix is not None:
        found |= {"W_r": m.mix.weight, "b_r": m.mix.bias}
    if m.guide:
        found["ẑ_k"] = truth[m.story].ids[0] + 1
    if not m.joint:
        return found | {f"{name}_y": weight for name, weight in zip("H", m.carry.parameters(), strict=False)}
    if m.fewer:
        found |= {"C_ℓ": m.costs.weight, "a_ℓ": m.costs.bias}
    if m.adds:
        return found | {"D_k": Family(m.following.distances, (1, -m.following.reach))}
    moves: Any = m.transitions
    for letter, layers in (("P", moves.first), ("G", moves.question), ("R", moves.second)):
        found[f"{letter}_k"] = torch.stack([layer.weight for layer in layers])
    found["D_k"] = Family(moves.distances, (1, -moves.reach))
    found["Q_k"] = m.queries.weight.unflatten(0, (m.hops, -1))
    return found


def of_decomposable(m: DecomposableDecoder) -> Binding:
    networks = {"g": m.compare, "r": m.hidden}
    found: Binding = {"F_y": m.attend[1].weight} if len(m.attend) == 2 else {}
    for letter, network in (networks if found else {"f": m.attend, **networks}).items():
        for number, layer in ((1, network[1]), (2, network[4])):
            found |= {f"W_{letter}{number}": layer.weight, f"b_{letter}{number}": layer.bias}
    return found


def of_machine(m: MachineDecoder, given: Mapping[str, Memory], target: Any) -> Binding:
    blank = (given[m.of].values[0, :, -1] > 0).nonzero().squeeze(1)
    found: Binding = {"T": len(blank), "τ_t": blank + 1, "y_t": target.values[0]}
    found |= {"V_y": m.output.weight, "b_y": m.output.bias, **of_cell(m.cell, "y")}
    pieces = m.first_state.split(m.cell.size)
    found |= {f"{letter}_0": piece for letter, piece in zip("sc", pieces, strict=False)}
    return found if m.store is None else found | of_store(m.store)


def of_store(store: Any) -> Binding:
    """The pieces of the interface. Pieces that end with r are per head; so are all pieces of an NTM."""
    found: Binding = {"K": store.heads, "r_0k": store.first_read}
    found |= {"W": store.width, "N": store.slots} if hasattr(store, "slots") else {}
    if isinstance(store, LieStore):
        found |= {"x_0a": store.first_points[0], "x_0kr": store.first_points[1:]}
    sizes = list(store.pieces.values())
    weights, biases = store.interface.weight.split(sizes), store.interface.bias.split(sizes)
    for (name, mark), weight, bias in zip(store.pieces, weights, biases, strict=True):
        letter, below = "W", f"{name}{mark}"
        if isinstance(store, NTMStore) or mark == "r":
            weight, bias = (one.unflatten(0, (store.heads, -1)) for one in (weight, bias))
            below = f"{name}k{mark}"
        if weight.shape[-2] == 1:
            letter, weight, bias = "ω", weight.squeeze(-2), bias.squeeze(-1)
        found |= {f"{letter}_{below}": weight, f"b_{below}": bias}
    return found
