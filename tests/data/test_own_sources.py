"""Readers, worlds and packages registered by users work from YAML like ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from regard.data import Row, read_rows
from regard.data.packages import Package, package
from regard.data.provider import RowCount, Splits, numbered
from regard.data.readers import Reader
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.parts import as_data, register, registry
from regard.spec import Spec
from regard.worlds import World, world

SPEC = {"inputs": {"source": {"type": "text"}}, "outputs": {"target": {"type": "text"}}}


class DoublingWorld(World):
    """a → a a"""

    train: RowCount = 4
    dev: RowCount = 1
    word: str = "a"
    """What is doubled."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target")

    def splits(self) -> Splits:
        row = {"source": self.word, "target": f"{self.word} {self.word}"}
        sizes = {"train": self.train, "dev": self.dev}
        return {split: numbered(self.type, split, [row] * size) for split, size in sizes.items()}


class PairsPackage(Package):
    fields: ClassVar[tuple[str, ...]] = ("source", "target")

    def splits(self) -> Splits:
        return {
            split: numbered(self.type, split, [{"source": split, "target": "y"}])
            for split in ("train", "dev")
        }


class ArrowsReader(Reader):
    """Lines `source -> target`, one pair per line."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrows",)
    about: ClassVar[str] = "an arrows file"
    fields: ClassVar[tuple[str, ...]] = ("source", "target")
    arrow: str = "->"
    """Between source and target."""

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        for number, line in enumerate(files[0].read_text(encoding="utf-8").splitlines(), start=1):
            source, _, target = (cell.strip() for cell in line.partition(self.arrow))
            yield Row({"source": source, "target": target}, file=str(files[0]), line=number)


PARTS = {
    ("world", "test-doubling"): DoublingWorld,
    ("package", "test-pairs"): PairsPackage,
    ("reader", "test-arrows"): ArrowsReader,
}


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    for (kind, name), made in PARTS.items():
        register(kind, name)(made)
    yield
    for kind, name in PARTS:  # remove them, because other tests go through all parts
        del registry.PARTS[kind][name]


def spec_of(data: dict[str, object], *overrides: str) -> Spec:
    return Spec.parse({**SPEC, "data": data}, overrides)


def test_a_world_of_somebody_elses() -> None:
    assert len(open_splits(spec_of({"world": "test-doubling"}))["train"]) == 4
    splits = open_splits(spec_of({"world": {"type": "test-doubling", "word": "b", "train": 2}}))
    assert [row["target"] for row in splits["train"]] == ["b b", "b b"]
    assert next(iter(splits["dev"])).where == "test-doubling:dev:1"
    assert len(open_splits(spec_of({"world": "test-doubling"}, "data.world.train=3"))["train"]) == 3
    assert world("test-doubling", dev=0).splits()["dev"] == []
    with pytest.raises(RegardError, match=r"data\.world\.wrd: unknown key 'wrd'\. Did you mean word\?"):
        spec_of({"world": {"type": "test-doubling", "wrd": "b"}})


def test_an_override_below_a_short_form_keeps_the_part() -> None:
    spec = spec_of({"world": "test-doubling"}, "data.world.train=3", "data.world.word=c")
    assert as_data(spec.data.world) == {"type": "test-doubling", "train": 3, "word": "c"}
    assert spec.written()["data"] == {"world": {"type": "test-doubling", "train": 3, "word": "c"}}
    assert Spec.parse(spec.written()) == spec != spec.changed("data.world.train=4")
    with pytest.raises(RegardError, match=r"overrides=\['data\.world\.tran=3'\]: unknown key 'tran'"):
        spec_of({"world": "test-doubling"}, "data.world.tran=3")


def test_worlds_of_equal_options_are_not_equal() -> None:
    assert spec_of({"world": "copy"}) != spec_of({"world": "reverse"})
    assert spec_of({"world": "copy"}) == spec_of({"world": {"type": "copy", "seed": 1}})


def test_a_package_of_somebody_elses() -> None:
    assert [row["source"] for row in open_splits(spec_of({"package": "test-pairs"}))["dev"]] == ["dev"]
    assert list(package("test-pairs").splits()) == ["train", "dev"]


def test_a_reader_of_somebody_elses(tmp_path: Path) -> None:
    file = tmp_path / "rows.arrows"
    file.write_text("a -> b\nc -> d\n", encoding="utf-8")
    expected = [{"source": "a", "target": "b"}, {"source": "c", "target": "d"}]
    named = {"train": str(file), "dev": str(file)}
    assert list(open_splits(spec_of(named))["train"]) == expected
    other = tmp_path / "rows.txt"
    other.write_text("a => b\n", encoding="utf-8")
    chosen = {"train": str(other), "dev": str(other), "format": {"type": "test-arrows", "arrow": "=>"}}
    assert list(open_splits(spec_of(chosen))["train"]) == expected[:1]
    with pytest.raises(RegardError, match=r"an arrows file has the fields source, target, but no text"):
        list(read_rows(file, fields=["text"]))


def test_the_options_of_a_reader_count_for_the_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "rows.arrows"
    file.write_text("a -> b\n", encoding="utf-8")
    plain, other = (
        read_rows(file, fields=["source"], format=ArrowsReader(arrow=arrow)) for arrow in ("->", "=>")
    )
    assert plain.fingerprint() != other.fingerprint()


def test_two_readers_of_one_suffix_are_refused_where_no_format_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ArrowsReader, "suffixes", (".tsv",))
    file = tmp_path / "rows.tsv"
    file.write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(
        RegardError, match=r"the readers test-arrows and tsv both read \.tsv files\. Choose one"
    ):
        read_rows(file, fields=["source", "target"])
    assert len(list(read_rows(file, fields=["source", "target"], format="tsv"))) == 1


def test_a_format_of_one_file_takes_one_file(tmp_path: Path) -> None:
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    with pytest.raises(RegardError, match="format: tsv takes one file, received 2"):
        read_rows(f"{tmp_path / 'a.tsv'}+{tmp_path / 'b.tsv'}", fields=["a", "b"], format="tsv")
    with pytest.raises(RegardError, match=r"there is no reader 'tvs'\. Did you mean tsv\?"):
        read_rows(tmp_path / "a.tsv", fields=["a"], format="tvs")
