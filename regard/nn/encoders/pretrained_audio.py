"""A pretrained encoder of audio of transformers: Whisper, wav2vec2, HuBERT, WavLM. Its states are the memory."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from regard.data.media import Series
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.pretrained import TRAINED, LayerMix, Layers
from regard.nn.feature_cache import FeatureCache
from regard.nn.letters import Letters
from regard.nn.memory import Memory
from regard.nn.pretrained_body import ModelOrigin, Train, body_size, make_body, set_trained
from regard.nn.speech_front import RATE, front_of
from regard.parts import Dropout, Mistakes, Plan, Size, register


@register("encoder", "pretrained-audio")
class PretrainedAudioEncoder(Encoder):
    """values h_j = the states of the encoder, one for every 20 ms, summary Σ_j h_j / S.

    Each recording is read alone: padding would change the statistics of the first layers of wav2vec2.
    """

    class Options(Encoder.Options):
        """A pretrained encoder of audio of the library transformers, read from a local folder; a trained model contains
        it."""

        model: str
        """A folder of transformers with config.json and weights; or hf:owner/name, fetched before with
        `hf download owner/name`."""
        layers: Layers = -1
        """The layer whose states are read; −1: the last; mix: a learned mixture of all."""
        train: Train = "frozen"
        """frozen: the weights stay as they are, and the states of each recording are computed once; lora: train
        low-rank changes of the matrices; full: train all weights."""
        rank: Size | None = None
        """Rank of the changes with train: lora; default: 8."""
        dropout: Dropout = 0.0
        """Dropout of the values, and of the input of low-rank changes."""

    reads = ("audio",)
    names_positions = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> PretrainedAudioEncoder:
        body, origin = make_body(options.model, column.config, read_files=read_files)
        front = front_of(body.config, column.config)
        body = set_trained(body, options.train, options.rank or 8, options.dropout)
        made = cls(body, front, layers=options.layers, train=options.train, dropout=options.dropout)
        made.origin = origin
        return made

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.rank is not None and options.train != "lora":
            mistakes.add(
                "rank has no effect: it belongs to train: lora.",
                "rank",
                fix="Leave rank out, or set train: lora.",
            )
        if getattr(plan.inputs[name], "rate", RATE) != RATE:
            mistakes.add(
                f"a pretrained encoder reads audio of {RATE:,} Hz, and {name} has {plan.inputs[name].rate:,}.",
                fix=f"Leave  rate  of the input {name} out.",
            )

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {"read_by": options.model}

    @classmethod
    def board(cls, options: Any) -> list[str]:
        last = "the last layer" if options.layers == -1 else f"layer {options.layers}"
        where = "a learned mixture of the layers" if options.layers == "mix" else last
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            "j = 1 … S",
            "h_j = ζ_j",
            "h = Σ_j h_j / S     — the summary",
            f"— ζ_j: the state at position j in {where} of {options.model}, {TRAINED[options.train]}{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {"body.**": "ζ_j", "mix.**": "ζ_j"}

    origin: ModelOrigin | None = None
    """Where the weights were read from; None in a model that was loaded."""

    def __init__(
        self, body: Any, front: Any, *, layers: int | str = -1, train: Train = "frozen", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.body, self.front, self.frozen, self.layers = body, front, train == "frozen", layers
        self.mix = LayerMix(int(body.config.num_hidden_layers) + 1) if layers == "mix" else None
        self.dropout = nn.Dropout(dropout)
        self.value_size = self.summary_size = body_size(body)
        self.cache: FeatureCache | None = None
        if self.frozen:
            self.body.eval()

    def train(self, mode: bool = True) -> PretrainedAudioEncoder:
        super().train(mode)
        if self.frozen:
            self.body.eval()
            if mode and self.cache is None:  # a model that only answers keeps nothing
                self.cache = FeatureCache()
        return self

    def forward(self, series: Series) -> Memory:
        counts = (series.lengths if series.counts is None else series.counts).tolist()
        rows = [series.values[row, :count, 0] for row, count in enumerate(counts)]
        if self.frozen and self.cache is not None:
            found = self.cache.rows([_key(row) for row in rows], lambda row: self._states(rows[row]))
        else:
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
                found = [self._states(row) for row in rows]  # (S, L, D) each
        padded = pad_sequence(found, batch_first=True).permute(2, 0, 1, 3)  # (L, B, S, D)
        lengths = torch.tensor([len(one) for one in found], device=padded.device)
        mask = torch.arange(padded.shape[2], device=padded.device) < lengths[:, None]
        values = padded[0] if self.mix is None else self.mix(padded)
        values = self.dropout(values) * mask.unsqueeze(-1)
        return Memory(values, mask, masked_mean(values, mask), layout="frames")

    def _states(self, samples: Tensor) -> Tensor:
        """(S, L, D): the states of one recording in the layers that are read."""
        every = self.mix is not None or self.layers != -1
        read = self.body(**self.front.inputs(samples), output_hidden_states=every)
        if self.mix is not None:
            states = torch.stack([one[0] for one in read.hidden_states], 1)
        else:
            states = (read.hidden_states[self.layers] if every else read.last_hidden_state)[0].unsqueeze(1)
        return states[: self.front.positions(len(samples))]

    def position_names(self, series: Series, pieces: Any = None) -> list[list[str]]:
        """For each position of each row, the time at which it begins."""
        step = self.front.step / RATE
        counts = [self.front.positions(length) for length in series.lengths.tolist()]
        return [[f"{place * step:.2f} s" for place in range(count)] for count in counts]


def _key(samples: Tensor) -> int:
    content = samples.detach().cpu().contiguous().numpy().tobytes()
    return int.from_bytes(blake2b(content, digest_size=8).digest()) >> 1 or 1
