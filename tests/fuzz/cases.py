"""The kinds of cases. Each kind is set up once, around a small trained model, and generates cases."""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
import warnings
import wave
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import regard
from regard import Model, Spec
from regard.cli.inputs import BadInputs, read_inputs
from regard.cli.main import main
from regard.data import Dataset, TextColumn, read_rows
from regard.data.columns import AudioColumn, ImageColumn
from regard.fitting.experiment import Experiment
from regard.spec.document import parse
from regard.training import checkpoint
from tests.fuzz.harness import Accepted, Changed, Count, listing, run_case
from tests.fuzz.mutation import (
    ODD_TEXTS,
    mutated_bytes,
    mutated_json,
    mutated_value,
    odd_value,
    replaced_file,
    restore,
    written,
)

Case = tuple[str, Callable[[], Any]]
INPUTS = ("abab", "b", "aabbaabb")
PAIRS = [(word, word[::-1]) for word in (f"{n:b}".replace("1", "a").replace("0", "b") for n in range(1, 60))]
OVERRIDES = ("encoder.size=6", "encoder.embedding=5", "decoder.size=6", "decoder.embedding=5", "training.steps=6",
             "training.batch_rows=16", "training.evaluate_every=3", "search.max_length=12")  # fmt: skip


class Workshop:
    """A trained model, its run with a training state, and a folder that no case may touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        self.outside.mkdir()
        for name in ("notes.txt", "data.tsv"):
            (self.outside / name).write_text("a user's\tfile\n")
        self.whole = folder / "whole"
        regard.fit(PAIRS, run=self.whole, overrides=OVERRIDES, quiet=True, device="cpu")
        self.answers = answers(self.whole)
        self.copy = folder / "copy"
        shutil.copytree(self.whole, self.copy)

    def untouched(self) -> Any:
        return listing(self.outside, self.whole)


def answers(folder: Path) -> list[Any]:
    model = Model.load(folder, device="cpu")
    return [(one.text, round(one.score, 6)) for one in model.predict(list(INPUTS), trace=False)]


def folders(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """A file of a model folder is changed: the model answers as before or is refused."""
    names = ["model.safetensors"] * 3 + ["spec.yaml", "columns.json"] * 2 + ["metrics.json", "manifest.json"]
    names += ["parts.json", "card.md"]
    while True:
        name = random.choice(names)
        path = shop.copy / name

        def case(path: Path = path, name: str = name) -> None:
            try:
                if answers(shop.copy) != shop.answers:
                    raise Changed(f"{name}: {answers(shop.copy)}")
            finally:
                restore(shop.copy, shop.whole, name)

        if random.random() < 0.08:
            replaced_file(path, random)
        else:
            change = mutated_json if name.endswith(".json") and random.random() < 0.6 else mutated_bytes
            content = change((shop.whole / name).read_bytes(), random)
            path.write_bytes(content)
        yield f"folder {name}", case


def caches(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """A file of a cache is changed: the rows stay the same."""
    data = shop.folder / "rows.tsv"
    data.write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS))
    columns = [TextColumn(name, unit="byte") for name in ("source", "target")]
    cache, kept = shop.folder / "rows", shop.folder / "rows-kept"

    def rows() -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = Dataset.build(
                read_rows(data, fields=("source", "target")), columns, cache=cache, on_bad="skip"
            )
        return [
            (dataset.raw(n), dataset.where(n), {k: v.tolist() for k, v in dataset[n].items()})
            for n in range(len(dataset))
        ]

    truth = rows()
    shutil.copytree(cache, kept)
    (folder,) = (entry.name for entry in cache.iterdir())
    names = sorted(path.name for path in (kept / folder).iterdir())
    while True:
        name = random.choice(names)
        path = cache / folder / name
        if random.random() < 0.1:
            replaced_file(path, random)
        else:
            path.write_bytes(mutated_bytes((kept / folder / name).read_bytes(), random))

        def case(name: str = name) -> None:
            if rows() != truth:
                raise Changed(name)
            if [entry.name for entry in cache.iterdir()] != [folder]:
                raise Changed(f"{name}: leftovers in {sorted(entry.name for entry in cache.iterdir())}")
            for one in names:
                same = json.loads if one.endswith(".json") else bytes  # whitespace in JSON does not matter
                if same((cache / folder / one).read_bytes()) != same((kept / folder / one).read_bytes()):
                    raise Changed(f"{name}: {one} was not mended")

        yield f"cache {name}", case


def states(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """A file of a training state is changed: the run resumes with the same weights or is refused."""
    files = sorted(
        str(path.relative_to(shop.whole)) for path in (shop.whole / "state").rglob("*.safetensors")
    )
    truth = {name: _content(shop.whole / name) for name in files}
    weights = (shop.whole / "model.safetensors").read_bytes()
    while True:
        name = random.choice(files)
        path = shop.copy / name
        path.write_bytes(mutated_bytes((shop.whole / name).read_bytes(), random))

        def case(name: str = name, resumed: bool = random.random() < 0.04) -> None:
            try:
                if not resumed:
                    if _content(shop.copy / name) != truth[name]:
                        raise Changed(name)
                    return
                Experiment.resume(shop.copy, device="cpu", quiet=True).train()
                if (shop.copy / "model.safetensors").read_bytes() != weights:
                    raise Changed(f"{name}: other weights after resuming")
            finally:
                shutil.rmtree(shop.copy)
                shutil.copytree(shop.whole, shop.copy)

        yield f"state {name}", case


def _content(path: Path) -> Any:
    tensors, values = checkpoint.read(path)
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}, values


TABLES = {
    "a.tsv": "source\ttarget\nab\tba\nb\tb\naab\tbaa\n",
    "a.csv": 'source,target\n"a, b",b\n"say ""a""",b\n',
    "a.jsonl": '{"source": "ab", "target": "ba"}\n{"source": 3, "target": 1.5}\n',
    "a.conllu": "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n2\tb\tb\tX\tX\t_\t1\tdep\t_\t_\n\n",
    "a.txt": "ab\tba\nb\tb\n",
    "a.tsv.gz": "",
}


def tables(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """An almost valid table: its rows are read, or the error is named."""
    import gzip

    contents = {name: text.encode() for name, text in TABLES.items()}
    contents["a.tsv.gz"] = gzip.compress(contents["a.tsv"])
    while True:
        name = random.choice(list(contents))
        path = shop.folder / name
        path.write_bytes(mutated_bytes(contents[name], random))
        fields = ("words", "heads") if name.endswith(".conllu") else ("source", "target")
        on_bad = random.choice(("stop", "skip"))

        def case(path: Path = path, fields: tuple[str, ...] = fields, on_bad: Any = on_bad) -> None:
            rows = read_rows(path, fields=fields)
            Dataset.build(rows, [TextColumn(name, unit="byte") for name in fields], on_bad=on_bad)
            raise Accepted

        yield f"table {name} {path.read_bytes()[:200]!r}", case


def is_list_of_numbers(value: Any) -> bool:
    """[1, 4, 2], or a list of such lists: read as "1 4 2", in training data and here."""
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    return all(
        isinstance(row, list)
        and bool(row)
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in row)
        for row in rows
    )


def json_lines(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """Lines of input: texts are answered, other values are refused."""
    model = Model.load(shop.whole, device="cpu")
    while True:
        value: Any = {"source": random.choice((odd_value(random), "abab", "b"))}
        for _ in range(random.randint(0, 2)):
            value = mutated_value(value, random)
        line = written(value, random)
        if random.random() < 0.3:
            line = mutated_bytes(line, random)
        if random.random() < 0.02:
            line = b'{"source": ' + b"[" * 100_000

        path = shop.folder / random.choice(("inputs.jsonl", "inputs.txt"))
        path.write_bytes(line + b"\n")

        def case(line: bytes = line, path: Path = path) -> None:
            given = [dict(row) for row in read_inputs(model, path, BadInputs(skip=False))]
            answered = model.predict(given, trace=False) if given else []
            if path.suffix == ".jsonl" and len(given) == 1 and line.lstrip().startswith(b"{"):
                # Parsed independently: only a text, a number, a truth value or a list of numbers may be answered.
                stated = json.loads(line, parse_constant=lambda _: None).get("source")
                if not isinstance(stated, str | int | float) and not is_list_of_numbers(stated):
                    raise Changed(f"{stated!r} was answered as {given!r} by {answered[0].text!r}")
            raise Accepted

        yield f"json {line[:200]!r}", case


SPECS = (
    """name: small
inputs: {source: {type: text, unit: char}}
outputs: {target: {type: text, unit: char}}
encoder: {type: recurrent, cell: gru, size: 8, layers: 2}
attention: {score: additive, select: softmax}
decoder: {type: recurrent, cell: gru, size: 8, condition: [start, attention]}
search: {method: beam, beam: 3}
training: {epochs: 2, batch_tokens: 100, lr: 1e-3, schedule: {type: cosine, warmup: 3}}
data: {train: train.tsv, dev: dev.tsv}
metrics: [accuracy]
""",
    """inputs: {image: {type: image, size: 32}, question: {type: text, unit: word}}
outputs: {answer: {type: label}}
encoder: {image: {type: image, network: vgg}, question: {type: recurrent, size: 8}}
decoder: {type: label, attention: {over: image, query: question, score: additive, select: softmax}}
data: {world: scenes}
""",
)


def specs(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """An almost valid spec."""
    while True:
        text = random.choice(SPECS)
        content = mutated_bytes(text.encode(), random)
        if random.random() < 0.5:
            value = mutated_value(parse(text, "spec.yaml").data, random)
            content = written(value, random)
        path = shop.folder / "spec.yaml"
        path.write_bytes(content)

        def case(path: Path = path) -> None:
            spec = Spec.load(path)
            if Spec.parse(parse(spec.to_yaml(), "again")) != spec:
                raise Changed("the spec that is written is another one")
            raise Accepted

        yield f"yaml {content[:400]!r}", case


def images(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """An almost valid image file."""
    column = ImageColumn("image", size=16)
    pixels = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
    whole = []
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM"):
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, kind)
        whole.append((kind, stream.getvalue()))
    while True:
        kind, content = random.choice(whole)
        path = shop.folder / "image.bin"
        path.unlink(missing_ok=True)
        path.write_bytes(mutated_bytes(content, random))
        if random.random() < 0.05:
            replaced_file(path, random)

        def case(path: Path = path) -> None:
            try:
                column.encode(column.located(str(path), "x"))
                raise Accepted
            finally:
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()

        yield f"image {kind}", case


def sounds(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """An almost valid audio file."""
    import soundfile

    column = AudioColumn("sound", max_seconds=2.0)
    samples = np.sin(np.arange(4000) / 10).astype(np.float32)
    whole = []
    for kind in ("WAV", "FLAC", "OGG"):
        stream = io.BytesIO()
        soundfile.write(stream, samples, 8000, format=kind)
        whole.append((kind, stream.getvalue()))
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(4000))
    whole.append(("WAV of two channels", stream.getvalue()))
    while True:
        kind, content = random.choice(whole)
        path = shop.folder / "sound.bin"
        path.write_bytes(mutated_bytes(content, random))

        def case(path: Path = path) -> None:
            column.encode(str(path))
            raise Accepted

        yield f"sound {kind} {path.read_bytes()[:60]!r}", case


def archives(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """An almost valid zip archive of images."""
    stream, packed = io.BytesIO(), io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(stream, "PNG")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.png", stream.getvalue())
        archive.writestr("c.png", stream.getvalue())
    path = shop.folder / "pictures.zip"
    while True:
        path.write_bytes(mutated_bytes(packed.getvalue(), random))
        member = random.choice(("a/b.png", "c.png", "none.png"))

        def case(member: str = member) -> None:
            column = ImageColumn("image", size=16)
            column.encode(column.located(f"{path}/{member}", "x"))
            raise Accepted

        yield f"archive {member}", case


def arguments(shop: Workshop, random: random.Random) -> Iterator[Case]:
    """Command lines: they succeed or exit with 2."""
    run = str(shop.whole)
    options = [
        ["--device", "cpu"], ["--device", "cuda:99"], ["--device", "teapot"], ["--device", "meta"], ["--beam", "3"],
        ["--beam", "1000000"], ["--n-best", "2"], ["--json", "-"], ["--bad-rows", "skip"],
        ["--trace"], ["--set", "search.beam=2"],
        ["--set", "encoder.size=9"], ["--set", "x"], ["--set", "search=[1]"], ["-o", "/proc/x"],
        ["-o", "/dev/null"], ["-o", "/dev/stdout"], ["-o", "out.txt"],
        ["-o", "out.svg"], ["-o", "no/such/folder/out.txt"], ["--seed", "1"], ["--seed", "99999999999999999999"],
        ["--file", "words.txt"], ["--file", "/nowhere"], ["-f", "a.jsonl"], ["--with", run], ["--with", "nowhere"],
        ["--column", "source", "--as", "x", "-f", "table.tsv"], ["--row", "0"], ["--row", "99"], ["--split", "dev"],
        ["--samples", "2"], ["--look", "0-0"], ["--look", "0-99"], ["--look", "{"], ["--target", "ab"], ["--heads"],
        ["--gallery", "1"], ["--of", "target"], ["--metric", "accuracy"], ["--help"], ["--version"], ["--by-length"],
    ]  # fmt: skip
    commands = (
        "predict",
        "show",
        "score",
        "evaluate",
        "describe",
        "compare",
        "list",
        "init",
        "train",
        "teapot",
    )
    words = (
        "abab",
        "b",
        "ab ba",
        "nowhere",
        run,
        "reverse",
        "{}",
        '{"source": null}',
        "/dev/zero",
        "a" * 300,
        *ODD_TEXTS,
    )
    work = shop.folder / "work"
    work.mkdir(exist_ok=True)
    while True:
        command = random.choice(commands)
        line = [command] if random.random() < 0.97 else []
        if random.random() < 0.8 and command not in ("train", "init", "list"):
            line.append(run)
        line += random.sample(words, random.randint(0, 2)) if command != "train" else ["nowhere.yaml"]
        for option in random.sample(options, random.choice((0, 0, 1, 1, 2))):
            line += option
        line = [_argument(word) for word in line]

        def case(line: list[str] = line) -> None:
            (work / "words.txt").write_text("ab\nba\n")
            (work / "a.jsonl").write_text('{"source": "ab"}\n')
            (work / "table.tsv").write_text("source\ttarget\nab\tba\n")
            before = sys.argv
            sys.argv = ["regard", *line]
            try:
                main()
            finally:
                sys.argv = before

        yield f"arguments {line}", case


def _argument(word: str) -> str:
    """As the operating system passes it: without NUL, invalid UTF-8 as surrogates."""
    return word.replace("\0", "").encode(errors="surrogatepass").decode(errors="surrogateescape")


KINDS: dict[str, tuple[int, Callable[[Workshop, random.Random], Iterator[Case]]]] = {
    "model folders": (6, folders),
    "caches": (2, caches),
    "training states": (3, states),
    "tables": (4, tables),
    "JSON": (4, json_lines),
    "YAML": (4, specs),
    "images": (4, images),
    "sounds": (3, sounds),
    "archives": (3, archives),
    "CLI arguments": (3, arguments),
}
"""{kind: (share of all cases, generator)}"""


def shares(total: int) -> dict[str, int]:
    whole = sum(weight for weight, _ in KINDS.values())
    return {kind: -(-total * weight // whole) for kind, (weight, _) in KINDS.items()}


def run_kind(shop: Workshop, kind: str, cases: int, seed: int) -> Count:
    count, made = Count(), KINDS[kind][1](shop, random.Random(f"{kind} {seed}"))
    for number in range(cases):
        name, action = next(made)
        run_case(count, f"{kind}, seed {seed}, case {number}: {name}", action, shop.untouched)
    made.close()
    return count
