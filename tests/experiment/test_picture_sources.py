"""The sources of a spec's images, for each split."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from regard.data import Dataset
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

PARTS = {
    "inputs": {"image": {"type": "image", "size": 8}},
    "outputs": {"caption": {"type": "text"}},
}


def captions(folder: Path) -> str:
    lines = [f"{name}.png#{k}\tA {name} picture {k} .\n" for name in ("red", "blue", "lost") for k in (0, 1)]
    (folder / "tokens.txt").write_text("".join(lines))
    (folder / "available_images.tsv").write_text("red.png\ttrain\nblue.png\tdev\n")
    for part, color in (("one", "red"), ("two", "blue")):
        (folder / part).mkdir()
        Image.new("RGB", (8, 8), color).save(folder / part / f"{color}.png")
    return str(folder / "tokens.txt")


def test_a_folder_for_each_split_and_the_rows_of_it(tmp_path: Path) -> None:
    file = captions(tmp_path)
    images = {"train": str(tmp_path / "one"), "dev": str(tmp_path / "two")}
    where = {"train": {"split": "train"}, "dev": {"split": "dev"}}
    data = {"train": file, "dev": file, "format": "flickr8k", "images": images, "where": where}
    spec = Spec.parse({**PARTS, "data": data})
    splits, columns = open_splits(spec), make_columns(spec)
    fit_columns(columns, spec, lambda: splits["train"])
    for split, color, pixel in (("train", "red", [255, 0, 0]), ("dev", "blue", [0, 0, 255])):
        dataset = Dataset.build(splits[split], columns.values())
        assert [dataset.raw(row)["caption"] for row in range(len(dataset))] == [
            f"A {color} picture {k} ." for k in (0, 1)
        ]
        assert dataset[0]["image"][0, 0].tolist() == pixel


def test_one_folder_for_all(tmp_path: Path) -> None:
    file = captions(tmp_path)
    spec = Spec.parse(
        {**PARTS, "data": {"train": file, "dev": file, "format": "flickr8k", "images": str(tmp_path)}}
    )
    assert {row.folder for rows in open_splits(spec).values() for row in rows} == {str(tmp_path)}


def test_held_out_rows_do_not_depend_on_where_the_pictures_lie(tmp_path: Path) -> None:
    lines = [f"{number}.png#0\tA .\n" for number in range(50)]
    sides = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tokens.txt").write_text("".join(lines))
        data = {"train": str(tmp_path / folder / "tokens.txt"), "format": "flickr8k", "hold_out": 0.3}
        spec = Spec.parse({**PARTS, "data": {**data, "images": str(tmp_path / folder)}})
        sides.append([row["image"] for row in open_splits(spec)["dev"]])
    assert sides[0] == sides[1] and 5 < len(sides[0]) < 25


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"images": {"valid": "x"}}, "images names the split 'valid'"),
        ({"format": "flickr9k"}, "flickr8k"),
        ({"images": "nowhere"}, "nowhere: there is no such folder or archive"),
    ],
)
def test_mistakes(tmp_path: Path, data: dict[str, object], words: str) -> None:
    file = captions(tmp_path)
    with pytest.raises(RegardError, match=words):
        open_splits(Spec.parse({**PARTS, "data": {"train": file, "format": "flickr8k", **data}}))
