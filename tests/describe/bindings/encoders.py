"""Encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.nn.encoders import (
    BagEncoder,
    CandidatesEncoder,
    ConvolutionalEncoder,
    GraphEncoder,
    HierarchicalEncoder,
    ImageEncoder,
    MeanEncoder,
    ParentedEncoder,
    PointsEncoder,
    PyramidalEncoder,
    RecurrentEncoder,
    SmoothedEncoder,
    StoryEncoder,
    TableEncoder,
    TreeEncoder,
    VectorsEncoder,
    VideoEncoder,
)
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.encoders.video import DOT
from regard.testing.board import Family
from tests.describe.bindings.cells import Binding, of_attention, of_cell, of_layer
from tests.describe.bindings.images import of_image, of_network
from tests.describe.bindings.transformers import of_feed, of_heads, of_layer_norm, of_start


def of_encoder(encoder: Any, options: Any, given: Any, tree: Any) -> Binding:
    """given: the collated input; tree: the tree of its words, if the data have one."""
    if isinstance(encoder, ParentedEncoder):
        inner = of_encoder(encoder.encoder, options, given, None)
        return inner | of_parents(encoder.parents, tree)
    if isinstance(encoder, ImageEncoder):
        return of_image(encoder, given)
    if isinstance(encoder, PyramidalEncoder):
        return of_pyramid(encoder, given)
    if isinstance(encoder, VideoEncoder):
        return of_video(encoder, given)
    if isinstance(encoder, VectorsEncoder):
        return {"S": given.values.shape[1], "x_j": given.values[0]}
    if isinstance(encoder, CandidatesEncoder):
        return of_candidates(encoder, given)
    if isinstance(encoder, HierarchicalEncoder):
        return of_hierarchy(encoder, given)
    if isinstance(encoder, GraphEncoder):
        return of_graph(encoder, given)
    if isinstance(encoder, TableEncoder):
        return of_table(encoder, given)
    if isinstance(encoder, StoryEncoder):
        return of_story(encoder, options, given)
    if isinstance(encoder, PointsEncoder):
        vectors: Any = encoder.embedding
        points: Binding = {"S": given.values.shape[1], "w_j": given.values[0], "m_e": vectors.mean}
        points |= {"d_e": vectors.spread, "W_e": vectors.linear.weight, "b_e": vectors.linear.bias}
        return points | of_recurrent(encoder)
    if isinstance(encoder, TreeEncoder):
        return of_tree(encoder, options, given)
    found: Binding = {"S": given.ids.shape[1], "w_j": given.ids[0] + 1, "E_x": encoder.embedding.weight}
    if isinstance(encoder, RecurrentEncoder):
        found |= of_recurrent(encoder)
    elif isinstance(encoder, ConvolutionalEncoder):
        layers: Sequence[Any] = list(encoder.layers)
        found |= {"W_x": encoder.project.weight, "b_x": encoder.project.bias, "P_x": encoder.place}
        found["C_lδ"] = torch.stack([layer.weight.permute(2, 0, 1) for layer in layers])
        found["b_l"] = torch.stack([layer.bias for layer in layers])
    elif isinstance(encoder, TransformerEncoder):
        found |= of_transformer(encoder)
    elif isinstance(encoder, BagEncoder):
        if encoder.position:
            found["η"] = torch.arange(1, encoder.value_size + 1) / encoder.value_size
        if options.like is not None:
            del found["E_x"]
    elif not isinstance(encoder, MeanEncoder | SmoothedEncoder):
        raise TypeError(f"{type(encoder).__name__} has no binding")
    return found


def of_recurrent(encoder: RecurrentEncoder) -> Binding:
    layers: Sequence[Any] = list(encoder.layers)
    both = len(layers[0].cells) == 2
    if len(layers) == 1:
        alone = "h" if both or encoder.values == "states" else "κ"
        return of_layer(layers[0], letter=alone)
    found: Binding = {}
    apart = encoder.residual and not both
    for number, layer in enumerate(layers, start=1):
        mark = f"{number},→" if apart else f"{number},"
        letters = {"letter": "→h", "carried": "→m"} if apart else {}
        found |= of_layer(layer, at=f"{number},", mark=mark, **letters)
    return found


def of_transformer(encoder: TransformerEncoder) -> Binding:
    found: Binding = of_start(encoder, "x")
    for number, layer in enumerate(encoder.layers, start=1):
        found |= of_heads(layer.attention, "", number) | of_feed(layer.feed, "", number)  # type: ignore[arg-type]
        found |= of_layer_norm(layer.attended.norm, f"a,{number}")  # type: ignore[union-attr, arg-type]
        found |= of_layer_norm(layer.fed.norm, f"f,{number}")  # type: ignore[union-attr, arg-type]
    return found | ({} if encoder.norm is None else of_layer_norm(encoder.norm, "z"))


def of_parents(parents: Any, tree: Any) -> Binding:
    found: Binding = {"r_0": parents.root}
    if parents.reader is None:
        return found | ({} if tree is None else {"τ_j": tree.heads[0]})
    found |= of_layer(parents.reader, letter="b", carried="n", mark="b,", places=("−1", "S+1"))
    score = parents.attention.score
    found |= {"W_h": score.head.weight, "b_h": score.head.bias, "U_h": score.modifier.weight}
    found["v_h"] = score.vector if hasattr(score, "vector") else score.alone.weight[0]
    return found


def of_pyramid(encoder: PyramidalEncoder, given: Any) -> Binding:
    lengths, count = [], given.values.shape[1]
    for paired in encoder.pairs:
        count = (count + 1) // 2 if paired else count
        lengths.append(count)
    frames = nn.functional.pad(given.values[0], (0, 0, 0, given.values.shape[1] % 2))
    found: Binding = {"S": count, "S_l": torch.tensor(lengths), "x": Family(frames, (1,))}
    for number, layer in enumerate(encoder.layers, start=1):
        places = ("0", f"S_{number}+1")
        found |= of_layer(layer, at=f"{number},", mark=f"{number},", places=places)  # type: ignore[arg-type]
    return found


def of_candidates(encoder: CandidatesEncoder, given: Any) -> Binding:
    return of_sentences(given) | {"E_x": encoder.bag.embedding.weight}


def of_sentences(given: Any) -> Binding:
    """The words of a story or document that fits one bucket."""
    (tokens,) = given.buckets
    return {"S": len(tokens.ids), "N_j": tokens.lengths, "w_jm": tokens.ids + 1}


def of_graph(encoder: GraphEncoder, given: Any) -> Binding:
    found = of_sentences(given) | of_label_words(encoder)
    found |= {"W_v": encoder.node.weight, "b_v": encoder.node.bias}
    nodes, relations = len(given.places), len(encoder.forth.weight)
    edges = torch.zeros(relations, nodes, nodes).double()
    edges[given.relations, given.targets, given.sources] = 1
    found |= {"R": relations, "A_ζji": _shared(edges), "M_ζ": encoder.forth.weight}
    if encoder.back is not None:
        found |= {"B_ζji": _shared(edges.mT), "Q_ζ": encoder.back.weight}
    if encoder.cell is not None:
        return found | of_cell(encoder.cell, "n")
    return found | {"W_n": encoder.plain.weight, "b_n": encoder.plain.bias}  # type: ignore[union-attr]


def _shared(edges: torch.Tensor) -> torch.Tensor:
    """(R, S, S) each edge as a share of those of its relation to the same node."""
    return edges / edges.sum(-1, keepdim=True).clamp(min=1)


def of_table(encoder: TableEncoder, given: Any) -> Binding:
    found = of_sentences(given) | of_label_words(encoder) | {"f_j": given.names + 1}
    found |= {"F_x": encoder.fields.weight, "W_v": encoder.cell.weight, "b_v": encoder.cell.bias}
    for number, layer in enumerate(encoder.layers, start=1):
        found |= {f"W_{number}": layer.own.weight, f"b_{number}": layer.own.bias}
        found[f"U_{number}"] = layer.mean.weight
    return found


def of_hierarchy(encoder: HierarchicalEncoder, given: Any) -> Binding:
    found = of_sentences(given) | of_label_words(encoder)
    sentences = encoder.sentences
    if isinstance(sentences, RecurrentEncoder):
        found |= of_recurrent(sentences)
    if encoder.attention is not None:
        found |= of_attention(encoder.attention, "w") | {"q_w": encoder.query}
    return found


def of_label_words(encoder: Any) -> Binding:
    """The embedding of the words of sentences, and the network that reads them, if there is one."""
    found: Binding = {"E_x": encoder.embedding.weight}
    words = encoder.words
    if isinstance(words, RecurrentEncoder):
        layer: Any = words.layers[0]
        read = of_layer(layer, letter="b", carried="n", mark="w,", places=("", ""))
        arrows = "→←" if len(layer.cells) == 2 else ("",)
        named = {
            f"{arrow}{letter}_{{}}": f"{letter}_{{{'w,' + arrow if arrow else 'w'}}}"
            for arrow in arrows
            for letter in "bn"
        }
        found |= {named.get(name, name): weight for name, weight in read.items()}
    return found


def of_story(encoder: StoryEncoder, options: Any, given: Any) -> Binding:
    found = of_sentences(given)
    tables: Sequence[Any] = list(encoder.tables)
    labels = "AC" if options.tie == "layers" else [str(number + 1) for number in range(len(tables))]
    for label, table, ages in zip(labels, tables, encoder.ages, strict=True):
        found |= {f"E_{label}": table.embedding.weight, f"T_{label}": Family(ages, (0,))}
        if isinstance(table, RecurrentEncoder):
            layer = of_layer(table.layers[0], letter="b", mark=f"{label},", places=("", ""))  # type: ignore[arg-type]
            named = {f"{arrow}b_{{}}": f"b_{{{label},{arrow}}}" for arrow in "→←"}
            found |= {named.get(name, name): weight for name, weight in layer.items()}
        elif table.position:
            found["η"] = torch.arange(1, encoder.value_size + 1) / encoder.value_size
    return found


def of_video(encoder: VideoEncoder, given: Any) -> Binding:
    rows, columns = encoder.frames.grid
    found: Binding = {"S": given.frames.shape[1], "K": rows * columns, "X_j": given.frames[0]}
    found |= of_network(encoder.frames)
    if encoder.motion is not None:
        motion = of_network(encoder.motion)
        found |= {f"{name[0]}{DOT}{name[1:]}": weight for name, weight in motion.items()}
    if encoder.layer is not None:
        alone = len(encoder.layer.cells) == 1 and encoder.values == "frames"
        found |= of_layer(encoder.layer, letter="κ" if alone else "h")
    return found


def of_tree(encoder: TreeEncoder, options: Any, given: Any) -> Binding:
    """Children are derived from parents; the gates of a composer are stacked in its weights."""
    above = encoder(given).above[0].tolist()  # type: ignore[index]
    children = [
        [child + 1 for child, parent in enumerate(above) if parent == place] for place in range(len(above))
    ]
    words = iter(given.ids[0][given.ids[0] > 0].tolist())
    ids = [0 if one else next(words) for one in children]
    found: Binding = {"S": len(above), "E_x": encoder.embedding.weight}
    if encoder.structure == "latent":
        spans: list[tuple[int, int]] = []
        for place, one in enumerate(children):
            count = sum(not below for below in children[:place])
            spans.append((spans[one[0] - 1][0], spans[one[1] - 1][1]) if one else (count + 1, count + 1))
        first, last = (torch.tensor(side) for side in zip(*spans, strict=True))
        found |= {"N": sum(not one for one in children), "λ_j": first, "ρ_j": last}
        found["w_ι"] = torch.tensor([number for number in ids if number]) + 1
        a, b = encoder.span.weight.chunk(2, 1)  # type: ignore[union-attr]
        found |= {"A_s": a, "B_s": b, "b_s": encoder.span.bias, "v_s": encoder.span_score}  # type: ignore[union-attr]
    else:
        found |= {
            "w_j": torch.tensor(ids) + 1,
            "λ_j": torch.tensor([one[0] if one else 0 for one in children]),
        }
        if options.compose.part.any_number:
            found["π_c"] = torch.tensor(above) + 1
        else:
            found["ρ_j"] = torch.tensor([one[-1] if one else 0 for one in children])
    composer: Any = encoder.composer
    gates = {"rnn": ("", ""), "tensor": ("", ""), "lstm": ("iuo", "ifgou"), "child-sum": ("iuo", "iuo")}
    for mark, layer, names in zip(
        "xp", (composer.word, composer.node), gates[options.compose.type], strict=True
    ):
        parts = zip(
            names or [""], layer.weight.chunk(len(names) or 1), layer.bias.chunk(len(names) or 1), strict=True
        )
        for gate, weight, bias in parts:
            found |= {f"W_{gate}{mark}": weight, f"b_{gate}{mark}": bias}
    if hasattr(composer, "forget"):
        found |= {"W_fp": composer.forget.weight, "b_fp": composer.forget.bias}
    if hasattr(composer, "tensor"):
        found["V_δ"] = composer.tensor
    return found
