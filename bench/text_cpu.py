"""Text to text on the CPU: our training and search beside JoeyNMT's, on the same work, in one run.

    python bench/text_cpu.py --make-peer PEER                      once: JoeyNMT 2.3 in its own environment
    python bench/text_cpu.py --peer-python PEER/bin/python --json result.json
    python bench/text_cpu.py --peer-python PEER/bin/python --cell lstm --layers 2
    python bench/text_cpu.py --roofline                            our training, relative to peak flops

Both models: bidirectional encoder of 256 per direction, embeddings of 256, a decoder of 256 with additive attention and
input feeding, `--layers` of `--cell` in each, a vocabulary of 4,000 types, batches of 64 sentences, Adam 1e-3, clipping
at 1. The data are random pairs of 10 to 30 tokens; decoding writes exactly 20 tokens. The two sides take
turns; ratios are of medians, by wall clock and by CPU time (`--clock cpu` on a busy machine). Exit status 1
if a bar is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import beside
from beside import WARM_UP, Rates, timed

BARS = {
    1: {"train": 2.5, "greedy": 2.5, "beam 5": 3.5},
    2: {"train": 2.0, "greedy": 2.0, "beam 5": 2.0},
}
"""{number of layers: {task: least ratio}}"""
UNITS = {"train": "target tokens", "greedy": "sentences", "beam 5": "sentences"}
PEER_PACKAGES = [
    "numpy",
    "pyyaml",
    "pillow",
    "packaging",
    "six",
    "pandas",
    "matplotlib",
    "seaborn",
    "sacrebleu",
]
PEER_PACKAGES += ["sentencepiece", "subword-nmt", "protobuf", "tensorboard", "datasets", "unidecode"]
PEER_PACKAGES += ["importlib_metadata"]
SPLITS = {"train": 20_000, "dev": 200, "test": 1_000}
ROWS, TYPES, LENGTH = 64, 4_000, 20


def make_data(folder: Path) -> None:
    """Write random pairs, one sentence per line: SPLIT.src and SPLIT.trg."""
    generator = random.Random(0)
    for split, count in SPLITS.items():
        for side in ("src", "trg"):
            lines = (
                " ".join(f"w{generator.randrange(TYPES)}" for _ in range(generator.randint(10, 30)))
                for _ in range(count)
            )
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n")


def run_ours(folder: Path, options: argparse.Namespace) -> Rates:
    """Rates of our model, through the public names of `regard.data` and `regard.nn`."""
    import torch

    from regard.data import Dataset, TextColumn, read_rows, values
    from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder

    torch.manual_seed(0)
    columns = [TextColumn("src", max_length=40), TextColumn("trg", max_length=40)]

    def rows(split: str) -> Any:
        return read_rows(f"{folder / split}.src+{folder / split}.trg", fields=["src", "trg"])

    for column in columns:
        column.learn(values(rows("train"), column.field))
    train, test = (Dataset.build(rows(split), columns) for split in ("train", "test"))
    shape: dict[str, Any] = {"cell": options.cell, "size": 256, "layers": options.layers}
    encoder = RecurrentEncoder(Embedding(columns[0].size, 256), **shape)
    attention = Attention(256, encoder.value_size, score="additive")
    decoder = RecurrentDecoder(
        Embedding(columns[1].size, 256),
        {"src": encoder},
        attention={"src": attention},
        state="current",
        **shape,
    )
    return beside.our_rates(
        encoder,
        decoder,
        train,
        test,
        options,
        rows=ROWS,
        length=LENGTH,
        counted=lambda batch, loss: int(loss.count),
    )


def arithmetic(cell: str, layers: int, source: float, target: float) -> dict[str, float]:
    """Multiply-adds of a forward pass for one sentence with these numbers of source and target tokens, and
    the bytes of weights that a decoder step reads."""
    size, gates, memory = 256, {"gru": 3, "lstm": 4}[cell] * 256, 512
    encoder = sum(
        2 * gates * ((size if layer == 0 else memory) + size) for layer in range(layers)
    )  # per token
    above = (layers - 1) * gates * 2 * size
    step = gates * (size + size + size) + above + size * size + size * (size + memory)
    attention = source * (size + memory)
    return {
        "encoder": source * (encoder + memory * size),
        "decoder": target * (step + attention),
        "output": target * TYPES * size,
        "bytes of a step": 4.0 * step,
    }


def peak(size: int = 1024) -> float:
    """Floating-point operations per second of CPU time in torch's matrix product."""
    import torch

    first, second = torch.randn(size, size), torch.randn(size, size)

    def product() -> int:
        torch.mm(first, second)
        return 2 * size**3

    return timed((product for _ in range(12)), 2)["cpu"]


def roofline(ours: Rates, highest: float, options: argparse.Namespace) -> str:
    """The share of the peak that training reaches; a training step costs three forward passes."""
    made = arithmetic(options.cell, options.layers, 20.0, 21.0)  # the mean of 10 … 30, and END
    total = made["encoder"] + made["decoder"] + made["output"]
    reached = ours["train"]["cpu"] / 21.0 * 6 * total
    return (
        f"training: {6 * total / 21 / 1e6:.1f} Mflop for each target token ({made['encoder'] / total:.0%} encoder, "
        f"{made['decoder'] / total:.0%} decoder, {made['output'] / total:.0%} output layer); "
        f"{made['bytes of a step'] / 2**20:.1f} MiB of weights in a step of the decoder\n"
        f"{reached / 1e9:.1f} of {highest / 1e9:.1f} Gflop in a second of processor time: {reached / highest:.0%}"
    )


def peer_configuration(folder: Path, cell: str, layers: int) -> dict[str, Any]:
    special = {"unk_token": "<unk>", "unk_id": 0, "pad_token": "<pad>", "pad_id": 1}
    special |= {"bos_token": "<s>", "bos_id": 2, "eos_token": "</s>", "eos_id": 3}
    text = {"level": "word", "voc_limit": TYPES, "voc_min_freq": 0, "max_length": 40}
    layer = {"type": "recurrent", "rnn_type": cell, "embeddings": {"embedding_dim": 256}, "hidden_size": 256}
    layer |= {"dropout": 0.0, "num_layers": layers, "activation": "tanh"}
    return {
        "name": "text_cpu",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "peer"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 42,
        "data": {
            **{split: str(folder / split) for split in SPLITS},
            "dataset_type": "plain",
            "src": {"lang": "src", **text},
            "trg": {"lang": "trg", **text},
            "special_symbols": special,
        },
        "testing": {
            "n_best": 1,
            "beam_size": 1,
            "beam_alpha": 1.0,
            "eval_metrics": ["bleu"],
            "batch_size": ROWS,
        }
        | {"batch_type": "sentence", "max_output_length": LENGTH, "min_output_length": LENGTH},
        "training": {"optimizer": "adam", "learning_rate": 1e-3, "clip_grad_norm": 1.0, "batch_size": ROWS}
        | {
            "batch_type": "sentence",
            "normalization": "tokens",
            "scheduling": "exponential",
            "decrease_factor": 1.0,
        }
        | {
            "early_stopping_metric": "loss",
            "epochs": 1,
            "updates": 300,
            "validation_freq": 300,
            "overwrite": True,
        }
        | {"logging_freq": 50, "shuffle": True, "print_valid_sents": [0], "keep_best_ckpts": 1},
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "bias_initializer": "zeros",
            "encoder": {**layer, "bidirectional": True},
            "decoder": {**layer, "hidden_dropout": 0.0, "input_feeding": True, "init_hidden": "bridge"}
            | {"attention": "bahdanau"},
        },
    }


def peer_model(folder: Path, cell: str, layers: int) -> tuple[Any, Any, Any, Any, Any]:
    """JoeyNMT's options, model, training data, test data and training manager."""
    import logging

    import yaml  # type: ignore[import-untyped]
    from joeynmt.config import load_config, parse_global_args, set_validation_args  # type: ignore[import-not-found]
    from joeynmt.helpers import make_model_dir  # type: ignore[import-not-found]
    from joeynmt.prediction import prepare  # type: ignore[import-not-found]
    from joeynmt.training import TrainManager  # type: ignore[import-not-found]

    logging.disable(logging.INFO)
    path = folder / "peer.yaml"
    path.write_text(yaml.safe_dump(peer_configuration(folder, cell, layers)))
    configuration = load_config(path)
    make_model_dir(Path(configuration["model_dir"]), overwrite=True)
    options = parse_global_args(configuration, rank=0, mode="train")
    model, train, _, test = prepare(options, rank=0, mode="train")
    manager = TrainManager(
        rank=0,
        model=model,
        model_dir=options.model_dir,
        device=options.device,
        autocast=options.autocast,
        seed=42,
        train_args=options.train,
        dev_args=set_validation_args(options.test),
    )

    return options, model, train, test, manager


def run_peer(folder: Path, arguments: argparse.Namespace) -> Rates:
    """Rates of JoeyNMT, through its own data iterator, training step and search."""
    from joeynmt.search import search  # type: ignore[import-not-found]

    options, model, train, test, manager = peer_model(folder, arguments.cell, arguments.layers)

    def batches(data: Any, shuffle: bool) -> Any:
        return iter(
            data.make_iter(
                batch_size=ROWS,
                batch_type="sentence",
                seed=42,
                shuffle=shuffle,
                num_workers=0,
                device=options.device,
                eos_index=model.eos_index,
                pad_index=model.pad_index,
            )
        )

    def learn(batch: Any) -> int:
        manager._train_step(batch)
        manager.clip_grad_fun(parameters=model.parameters())
        manager.optimizer.step()
        model.zero_grad()
        return int(batch.ntokens)

    training = batches(train, True)
    rates = {
        "train": timed((lambda: learn(next(training)) for _ in range(WARM_UP + arguments.steps)), WARM_UP)
    }
    model.eval()
    for name, size in (("greedy", 1), ("beam 5", 5)):
        testing = batches(test, False)

        def write(batch: Any, size: int = size) -> int:
            batch.sort_by_src_length()
            search(
                model=model,
                batch=batch,
                beam_size=size,
                beam_alpha=1.0,
                max_output_length=LENGTH,
                min_output_length=LENGTH,
                n_best=1,
                return_attention=False,
                return_prob="none",
                autocast=options.autocast,
            )
            return int(batch.nseqs)

        rates[name] = timed((lambda: write(next(testing)) for _ in range(1 + arguments.decode // ROWS)), 1)  # noqa: B023
    return rates


def make_peer(folder: Path) -> None:
    """Install JoeyNMT 2.3 without its requirements, which have become incompatible, and our version of torch."""
    beside.make_environment(folder, [*beside.same_torch(), *PEER_PACKAGES], ["--no-deps", "joeynmt==2.3.0"])


def bars(options: argparse.Namespace) -> dict[str, float]:
    return BARS[min(options.layers, 2)]


def report_roofline(options: argparse.Namespace) -> int:
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as made:
        make_data(Path(made))
        highest = [peak()]
        ours = run_ours(Path(made), options)
        highest.append(peak())
    print(roofline(ours, max(highest), options))
    return 0


def main() -> int:
    parser = beside.arguments(str(__doc__).split("\n")[0])
    parser.add_argument("--cell", choices=("gru", "lstm"), default="gru")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument(
        "--roofline", action="store_true", help="our training beside the peak of this machine, and stop"
    )
    options = parser.parse_args()
    if options.roofline:
        return report_roofline(options)
    return beside.compare(
        parser,
        __file__,
        peer_name="JoeyNMT",
        peer_module="joeynmt",
        bars=bars,
        units=UNITS,
        make_peer=make_peer,
        make_data=make_data,
        run_ours=run_ours,
        run_peer=run_peer,
    )


if __name__ == "__main__":
    sys.exit(main())
