"""Attacks by files: archives, Parquet, images, sounds, YAML, text and tables."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from tests.attacks.attack import Attack
from tests.attacks.commands import SHORT

TRAIN = f"-o x {SHORT}"
ROWS = "".join(
    f"{a}{b}{c}\t{a.upper()} {b.upper()}\n" for a in "bcd" for b in "aeiou" for c in "nrst"
).encode()


def content(name: str, data: bytes) -> Any:
    def write(place: Path) -> None:
        (place / name).write_bytes(data)

    return write


def zipped(members: dict[str, bytes], *, mode: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", mode) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def bomb() -> bytes:
    """A gigabyte of zeros, compressed to a megabyte."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as file:
        for _ in range(1024):
            file.write(bytes(1 << 20))
    return stream.getvalue()


def untouched(place: Path, output: str) -> str | None:
    return "wrote outside" if (place.parent / "evil.tsv").exists() or Path("/tmp/evil.tsv").exists() else None


ARCHIVES = [
    Attack(
        "archives",
        "a path that climbs",
        f"regard train 'a.zip/../evil.tsv' {TRAIN}",
        "refused",
        prepare=content("a.zip", zipped({"../evil.tsv": ROWS})),
        check=untouched,
    ),
    Attack(
        "archives",
        "a zip bomb",
        f"regard train a.zip/b.tsv {TRAIN}",
        "refused",
        seconds=300,
        prepare=lambda place: (place / "a.zip").write_bytes(zipped({"b.tsv": bytes(1 << 30)})),
    ),
    Attack(
        "archives",
        "a gz bomb",
        f"regard train b.tsv.gz {TRAIN}",
        "refused",
        seconds=300,
        prepare=lambda place: (place / "b.tsv.gz").write_bytes(bomb()),
    ),
    Attack(
        "archives",
        "no member of that name",
        f"regard train a.zip/c.tsv {TRAIN}",
        "refused",
        prepare=content("a.zip", zipped({"b.tsv": ROWS})),
    ),
    Attack(
        "archives",
        "an empty archive",
        f"regard train a.zip/b.tsv {TRAIN}",
        "refused",
        prepare=content("a.zip", zipped({})),
    ),
    Attack(
        "archives",
        "an archive without a member's name",
        f"regard train a.zip {TRAIN}",
        prepare=content("a.zip", zipped({"b.tsv": ROWS})),
    ),
    Attack(
        "archives",
        "an archive in an archive",
        f"regard train a.zip/b.zip/c.tsv {TRAIN}",
        "refused",
        prepare=content("a.zip", zipped({"b.zip": zipped({"c.tsv": ROWS})})),
    ),
    Attack(
        "archives",
        "not an archive",
        f"regard train a.zip/b.tsv {TRAIN}",
        "refused",
        prepare=content("a.zip", b"PK\x03\x04" + bytes(100)),
    ),
    Attack(
        "archives",
        "a cut xz",
        f"regard train b.tsv.xz {TRAIN}",
        "refused",
        prepare=content("b.tsv.xz", lzma.compress(ROWS)[:-20]),
    ),
    Attack(
        "archives",
        "a cut gz",
        f"regard train b.tsv.gz {TRAIN}",
        "refused",
        prepare=content("b.tsv.gz", gzip.compress(ROWS)[:-20]),
    ),
    Attack(
        "archives",
        "a gz with a wrong checksum",
        f"regard train b.tsv.gz {TRAIN}",
        "refused",
        prepare=content("b.tsv.gz", gzip.compress(ROWS)[:-8] + b"\x00" * 8),
    ),
    Attack(
        "archives",
        "text named gz",
        f"regard train b.tsv.gz {TRAIN}",
        "refused",
        prepare=content("b.tsv.gz", ROWS),
    ),
]


def parquet(columns: str) -> Any:
    def write(place: Path) -> None:
        import datetime
        import decimal

        import pyarrow
        import pyarrow.parquet

        n = 60
        texts = [f"w{number % 20} x" for number in range(n)]
        kinds = {
            "decimal": [decimal.Decimal(number) / 7 for number in range(1, n + 1)],
            "date": [datetime.date(2020, 1, 1 + number % 28) for number in range(n)],
            "time": [datetime.datetime(2020, 1, 1, number % 24) for number in range(n)],
            "struct": [{"a": number, "b": {"c": "x"}} for number in range(n)],
            "binary": [bytes([number, 255]) for number in range(n)],
            "null": [None] * n,
            "some null": [None if number % 3 else "yes" for number in range(n)],
            "list": [["a", "b"]] * n,
            "numbers": [[0.1, 0.2]] * n,
            "bool": [bool(number % 2) for number in range(n)],
            "float": [float("nan") if number % 5 == 0 else number / 3 for number in range(n)],
            "dictionary": pyarrow.array(["a", "b"] * (n // 2)).dictionary_encode(),
            "map": pyarrow.array([[("a", 1)]] * n, pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        }
        pyarrow.parquet.write_table(
            pyarrow.table({"text": texts, "target": kinds[columns]}), place / "p.parquet"
        )

    return write


PARQUET = [
    Attack(
        "parquet",
        f"a column of type {kind}",
        f"regard train p.parquet --source text --target target {TRAIN}",
        prepare=parquet(kind),
    )
    for kind in (
        "decimal",
        "date",
        "time",
        "struct",
        "binary",
        "null",
        "some null",
        "list",
        "numbers",
        "bool",
        "float",
        "dictionary",
        "map",
    )
] + [
    Attack(
        "parquet",
        "text named parquet",
        f"regard train p.parquet {TRAIN}",
        "refused",
        prepare=content("p.parquet", ROWS),
    )
]


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + bytes(50)
    )


def wav(frames: int, data: int, rate: int = 8000, channels: int = 1) -> bytes:
    """A header that promises `frames` frames, and `data` bytes."""
    size = frames * 2 * channels
    return (
        b"RIFF"
        + struct.pack("<I", (36 + size) & 0xFFFFFFFF)
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * 2, 2, 16)
        + b"data"
        + struct.pack("<I", size & 0xFFFFFFFF)
        + bytes(data)
    )


MEDIA = [
    Attack("media", name, f"regard predict runs/caption {file}", "refused", prepare=content(file, data))
    for name, file, data in (
        ("an image of 100,000 by 100,000 pixels", "a.png", png(100_000, 100_000)),
        ("an image of no pixels", "a.png", png(0, 0)),
        ("an image without data", "a.png", png(20, 20)),
        ("an empty image", "a.png", b""),
        ("text named png", "a.png", b"hello"),
        ("SVG named png", "a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("a cut JPEG", "a.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(10)),
        ("a GIF of no frames", "a.gif", b"GIF89a" + struct.pack("<HH", 60000, 60000) + bytes(3)),
        ("a sound named png", "a.png", wav(100, 200)),
    )
] + [
    Attack(
        "media",
        name,
        "regard describe a.wav; regard train list.tsv --set inputs.source.type=audio " + TRAIN,
        "refused",
        prepare=lambda place, data=data: (
            ((place / "a.wav").write_bytes(data), (place / "list.tsv").write_text("a.wav\tA\n" * 60))[0]
            and None
        ),
    )
    for name, data in (
        ("a sound that promises 4 GB", wav(2_000_000_000, 100)),
        ("a sound of no rate", wav(100, 200, rate=0)),
        ("a sound of 0 channels", wav(100, 200, channels=0)),
        ("an empty sound", b""),
    )
]
SPECS = {
    "twice a key": (
        "inputs: {a: {type: text}}\ninputs: {b: {type: text}}\noutputs: {c: {type: text}}\n",
        "refused",
        "twice|duplicate",
    ),
    "twice a key inside": (
        "inputs: {a: {type: text, type: label}}\noutputs: {c: {type: text}}\n",
        "refused",
        "twice|duplicate",
    ),
    "a date as a name": (
        "name: 2020-01-01\ninputs: {a: {type: text}}\noutputs: {c: {type: text}}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "an octal seed": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\ntraining: {seed: 0777}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "a rate of nan": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\ntraining: {lr: .nan}\ndata: {train: words.tsv}\n",
        "refused",
        "lr",
    ),
    "a rate of inf": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\ntraining: {lr: .inf}\ndata: {train: words.tsv}\n",
        "refused",
        "lr",
    ),
    "a huge number": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\nencoder: {embedding: 9999999999999}\n"
        "data: {train: words.tsv}\n",
        "refused",
        "embedding",
    ),
    "a number of 10,000 digits": (
        f"inputs: {{a: {{type: text}}}}\noutputs: {{c: {{type: text}}}}\ntraining: {{epochs: {'9' * 10_000}}}\n",
        "refused",
        "",
    ),
    "a tab": ("inputs:\n\ta: {type: text}\n", "refused", ""),
    "a merge key": ("x: &x {type: text}\ninputs: {a: {<<: *x}}\n", "refused", "alias"),
    "a tag of Python": ("inputs: !!python/object/apply:os.system ['touch evil']\n", "refused", ""),
    "nothing": ("", "refused", ""),
    "a list": ("- a\n- b\n", "refused", ""),
    "a word": ("hello\n", "refused", ""),
    "a key that is a truth value": (
        "on: 1\ninputs: {a: {type: text}}\noutputs: {c: {type: text}}\n",
        "refused",
        "",
    ),
    "a null encoder": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\nencoder: ~\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "columns named as truth values": (
        "inputs: {yes: {type: text}}\noutputs: {no: {type: text}}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "columns named as numbers": (
        "inputs: {1: {type: text}}\noutputs: {2: {type: text}}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "a column named with a slash": (
        "inputs: {../a: {type: text}}\noutputs: {c: {type: text}}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
    "two documents": ("inputs: {a: {type: text}}\n---\noutputs: {c: {type: text}}\n", "refused", ""),
    "a negative patience": (
        "inputs: {a: {type: text}}\noutputs: {c: {type: text}}\ntraining: {patience: -3}\n",
        "refused",
        "patience",
    ),
    "a byte-order mark": (
        "\ufeffinputs: {a: {type: text}}\noutputs: {c: {type: text}}\ndata: {train: words.tsv}\n",
        "either",
        "",
    ),
}
YAML = [
    Attack(
        "YAML",
        name,
        f"regard train s.yaml {TRAIN}; code=$?; test -e evil && exit 1; exit $code",
        ends,
        says,
        prepare=content("s.yaml", text.encode()),
    )
    for name, (text, ends, says) in SPECS.items()
] + [
    Attack(
        "YAML",
        "UTF-16",
        f"regard train s.yaml {TRAIN}",
        "either",
        prepare=content("s.yaml", SPECS["an octal seed"][0].encode("utf-16")),
    ),
    Attack(
        "YAML",
        "bytes",
        f"regard train s.yaml {TRAIN}",
        "refused",
        prepare=content("s.yaml", bytes(range(256))),
    ),
]
PLAIN = ROWS.decode()
TEXTS = {
    "NUL in a row": ROWS + b"b\x00n\tB\n",
    "two encodings": ROWS + "caf\u00e9\tC\n".encode("latin-1"),
    "a byte-order mark inside": ROWS + "\ufeffban\tB\n".encode(),
    "emoji joined": ROWS + "\U0001f469\u200d\U0001f4bb\tW\n".encode() * 3,
    "labels that differ by a blank": "".join(
        f"t{n} x y\t{'yes' if n % 2 else 'yes '}\n" for n in range(80)
    ).encode(),
    "labels that differ by case": "".join(
        f"t{n} x y\t{'Yes' if n % 2 else 'yes'}\n" for n in range(80)
    ).encode(),
    "words that are one after normalization": "".join(
        f"caf\u00e9{n}\tA\ncafe\u0301{n}\tB\n" for n in range(40)
    ).encode(),
    "one row": b"ban\tB A N\n",
    "two rows": b"ban\tB A N\ncan\tC A N\n",
    "one class": b"".join(f"t{n} x y\tyes\n".encode() for n in range(80)),
    "all rows alike": b"ban\tB A N\n" * 80,
    "one symbol": b"".join(b"a" * n + b"\t" + b"A " * n + b"\n" for n in range(1, 80)),
    "a header alone": b"source\ttarget\n",
    "nothing": b"",
    "blank lines": b"\n\n \n\t\n" * 20,
    "one column": b"".join(f"word{n}\n".encode() for n in range(80)),
    "empty targets": b"".join(f"word{n}\t\n".encode() for n in range(80)),
    "a cell of a million letters": ROWS + b"a" * 1_000_000 + b"\tA\n",
    "10,000 columns": b"".join(
        b"\t".join(b"x%d" % (n + k) for k in range(10_000)) + b"\n" for n in range(20)
    ),
    "line ends of every kind": ROWS.replace(b"\n", b"\r")
    + ROWS.replace(b"\n", b"\r\n")
    + "ban\u2028can\tB\n".encode(),
    "UTF-32": PLAIN.encode("utf-32"),
}
TABLES = [
    Attack("text", name, f"regard train t.tsv {TRAIN}", prepare=content("t.tsv", data))
    for name, data in TEXTS.items()
] + [
    Attack(
        "data",
        "an empty dev file",
        f"regard train words.tsv --set data.dev=d.tsv {TRAIN}",
        "refused",
        prepare=content("d.tsv", b""),
    ),
    Attack(
        "data",
        "dev is train",
        f"regard train words.tsv --set data.dev=words.tsv {TRAIN}",
        "answered",
        "also occur in train",
    ),
    Attack(
        "data",
        "max_length of 1",
        f"regard train words.tsv --set inputs.source.max_length=1 {TRAIN}",
        "refused",
    ),
    Attack("data", "a vocabulary of 1", f"regard train words.tsv --set inputs.source.vocabulary=1 {TRAIN}"),
    Attack("data", "hold out everything", f"regard train words.tsv --set data.hold_out=1 {TRAIN}", "refused"),
    Attack("data", "hold out nothing", f"regard train words.tsv --set data.hold_out=0 {TRAIN}"),
    Attack(
        "data", "a batch of nothing", f"regard train words.tsv --set training.batch_rows=0 {TRAIN}", "refused"
    ),
]
ATTACKS = [*ARCHIVES, *PARQUET, *MEDIA, *YAML, *TABLES]
