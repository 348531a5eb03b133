"""A Transformer as a model of CTranslate2, which runs it in C++ on a CPU or a GPU.

Our matrices have the same meaning there. Q, K and V of one attention become one matrix, as do K and V of the
attention to the source. The vectors of the positions are written out: CTranslate2's own table has all sines before
all cosines. What it cannot compute is refused.

CTranslate2 does not know our forbidden tokens. A trained model never writes PAD or BEGIN; an untrained one may.
Its beam search ends differently from ours, so that exports are compared by greedy search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.data import SPECIAL
from regard.data.batch import PAD, Tokens
from regard.errors import RegardError
from regard.export.exporter import Exporter
from regard.nn.network import answering
from regard.nn.path import without_fast_paths
from regard.nn.search import Greedy, Limits
from regard.parts import register

POSITIONS = 2048
"""Rows of the table of positions: neither source nor output can be longer."""
INSTALL = "Install it with  pip install 'regard[ctranslate2]'."
WHERE = "export to CTranslate2"


ROWS = 8
"""Made-up texts whose translations are compared."""


@register("exporter", "ctranslate2")
class CTranslate2Exporter(Exporter):
    """The folder of a Transformer that `ctranslate2.Translator` opens."""

    needs = ("ctranslate2",)
    extra = "ctranslate2"

    @classmethod
    def refused(cls, model: Any, output: str) -> str:
        if model.continues:
            return "it continues a text."
        for name in (*model.spec.inputs, output):
            if not model.columns[name].is_text:
                return f"{name} is no text."
        if len(model.spec.inputs) != 1:
            return f"it reads {len(model.spec.inputs)} inputs."
        try:
            _check(model.network.reader(next(iter(model.spec.inputs))), model.network.decoders[output])
        except RegardError as error:
            return str(error.what).partition(": ")[2]
        return ""

    @classmethod
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        (name,) = model.spec.inputs
        source, target = model.columns[name], model.columns[output]
        pieces = [[*SPECIAL, *column.vocabulary.pieces] for column in (source, target)]
        encoder, decoder = model.network.reader(name), model.network.decoders[output]
        with answering(model):
            ctranslate2_model(encoder, decoder, folder, source=pieces[0], target=pieces[1])
            _compare(model, name, output, folder)
        return [
            "- `model.bin`, `config.json`, the vocabularies: a model of CTranslate2",
            "",
            "```python",
            "import ctranslate2",
            "",
            f'translator = ctranslate2.Translator(".")  # reads and writes {source.unit}s, as lists',
            "translator.translate_batch([[…]], beam_size=1)[0].hypotheses[0]",
            "```",
            "",
            f"Compared with the model when it was exported: the greedy outputs of {ROWS} made-up texts are equal.",
        ]


@torch.no_grad()
def _compare(model: Any, name: str, output: str, folder: Path) -> None:
    """Raise an error if greedy outputs differ, or their probabilities."""
    import ctranslate2

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(len(SPECIAL), model.columns[name].size, (ROWS, 2 * ROWS), generator=generator)
    lengths = torch.tensor([1, 2 * ROWS, *(3 + row for row in range(ROWS - 2))])
    source = Tokens(ids.masked_fill(torch.arange(2 * ROWS) >= lengths[:, None], PAD), lengths)
    decoder, most = model.network.decoders[output], 4 * ROWS
    limits = Limits(maximum=most, forbidden=())
    with without_fast_paths():
        found = decoder.predict({name: model.network.reader(name)(source)}, Greedy(limits))
    pieces, words = ([*SPECIAL, *model.columns[one].vocabulary.pieces] for one in (name, output))
    texts = [
        [pieces[token] for token in row[:length]] for row, length in zip(ids.tolist(), lengths, strict=True)
    ]
    ours = [[words[token] for token in found.content(row)] for row in range(ROWS)]
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    theirs = translator.translate_batch(texts, beam_size=1, max_decoding_length=most)
    for row, (mine, other) in enumerate(zip(ours, theirs, strict=True), 1):
        if other.hypotheses[0] != mine:
            raise RegardError(
                f"CTranslate2 and the model write different outputs for made-up text {row}. Nothing was written.",
                where=WHERE,
                fix="Report this, with the spec of the model.",
            )


def ctranslate2_model(
    encoder: nn.Module,
    decoder: nn.Module,
    folder: Path,
    *,
    source: Sequence[str],
    target: Sequence[str],
    quantization: str | None = None,
) -> None:
    """Write the folder that `ctranslate2.Translator` opens.

    source, target   the pieces of both vocabularies, in the order of their ids
    quantization     the type of the weights in the file, such as int8; default: as they are
    """
    spec = ctranslate2_spec(encoder, decoder, source=source, target=target)
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def ctranslate2_spec(
    encoder: nn.Module, decoder: nn.Module, *, source: Sequence[str], target: Sequence[str]
) -> Any:
    """The `TransformerSpec` of CTranslate2 with the weights of an encoder and a decoder."""
    _check(encoder, decoder)
    specs = _specs()
    e, d = (_Weights(module) for module in (encoder, decoder))
    relu = specs.Activation.RELU
    spec = specs.TransformerSpec(
        specs.TransformerEncoderSpec(
            len(e.layers), e.layers[0].attention.heads, pre_norm=e.norm is not None, activation=relu
        ),
        specs.TransformerDecoderSpec(
            len(d.layers), d.layers[0].itself.heads, pre_norm=d.norm is not None, activation=relu
        ),
    )
    e.begin(spec.encoder, spec.encoder.embeddings[0])
    d.begin(spec.decoder, spec.decoder.embeddings)
    for layer, there in zip(e.layers, spec.encoder.layer, strict=True):
        _attention(layer.attention, layer.attended, there.self_attention, itself=True)
        _feed(layer.feed, layer.fed, there.ffn)
    for layer, there in zip(d.layers, spec.decoder.layer, strict=True):
        _attention(layer.itself, layer.first, there.self_attention, itself=True)
        _attention(layer.over, layer.second, there.attention, itself=False)
        _feed(layer.feed, layer.third, there.ffn)
    output: Any = decoder.output
    spec.decoder.projection.weight = _array(output.weight)
    spec.decoder.projection.bias = _array(output.bias)
    _, unknown, begin, end = SPECIAL
    spec.register_source_vocabulary(_pieces(source))
    spec.register_target_vocabulary(_pieces(target))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = unknown, begin, end
    spec.config.decoder_start_token = begin
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.config.layer_norm_epsilon = d.layers[0].first.norm.eps
    return spec


def _specs() -> Any:
    try:
        from ctranslate2 import specs  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise RegardError("The package ctranslate2 is not installed.", where=WHERE, fix=INSTALL) from error
    return specs


class _Weights:
    """An encoder or a decoder, and where its embeddings and its last normalization belong."""

    def __init__(self, module: Any) -> None:
        self.module, self.layers, self.norm = module, list(module.layers), module.norm
        self.output = getattr(module, "output", None)

    @torch.no_grad()
    def begin(self, there: Any, embeddings: Any) -> None:
        embeddings.weight = _array(self.module.embedding.weight)
        there.scale_embeddings = True
        table = self.module.positions(torch.arange(POSITIONS, device=self.module.embedding.weight.device))
        there.position_encodings.encodings = _array(table)
        if self.norm is not None:
            _norm(self.norm, there.layer_norm)


def _attention(ours: Any, around: Any, there: Any, *, itself: bool) -> None:
    fused = [ours.query, ours.key, ours.value] if itself else [ours.key, ours.value]
    if not itself:
        _linear([ours.query], there.linear[0])
    _linear(fused, there.linear[0 if itself else 1])
    _linear([ours.output], there.linear[-1])
    _norm(around.norm, there.layer_norm)


def _feed(ours: Any, around: Any, there: Any) -> None:
    _linear([ours[0]], there.linear_0)
    _linear([ours[3]], there.linear_1)
    _norm(around.norm, there.layer_norm)


def _linear(layers: Sequence[Any], there: Any) -> None:
    there.weight = _array(torch.cat([layer.weight for layer in layers]))
    there.bias = _array(torch.cat([layer.bias for layer in layers]))


def _norm(ours: Any, there: Any) -> None:
    there.gamma, there.beta = _array(ours.weight), _array(ours.bias)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def _pieces(vocabulary: Sequence[str]) -> list[str]:
    """The first four are the special ones, under our names; the others must differ from them."""
    pieces = [*SPECIAL, *vocabulary[len(SPECIAL) :]]
    if twice := next((piece for piece, count in Counter(pieces).items() if count > 1), None):
        raise RegardError(f"the vocabulary contains {twice!r} twice.", where=WHERE)
    return pieces


def _check(encoder: Any, decoder: Any) -> None:
    """Refuse what CTranslate2 cannot compute."""
    for name, module in (("encoder", encoder), ("decoder", decoder)):
        if not getattr(module, "layers_as_published", False):
            raise _refused(f"the {name} is no Transformer.", "Export a model whose encoder and decoder are.")
        if not isinstance(getattr(module.embedding, "weight", None), Tensor):
            raise _refused(f"the {name} also reads characters.", "Train without `characters`.")
        if module.widen is not None:
            raise _refused(
                f"the embeddings of the {name} have {module.embedding.size} features and its layers "
                f"{module.positions.size}.",
                "Set `embedding` to `size`.",
            )
        attention = module.layers[0].attention if name == "encoder" else module.layers[0].itself
        if attention.distances is not None:
            raise _refused(f"the {name} scores distances with `distances`.", "Train without `distances`.")
    if len(decoder.names) != 1:
        raise _refused(
            f"the decoder attends to {len(decoder.names)} inputs.", "Export a model with one input."
        )


def _refused(what: str, fix: str) -> RegardError:
    return RegardError(f"CTranslate2 cannot run this model: {what}", where=WHERE, fix=fix)
