"""Readers whose rows name images: captions, statements, formulas, folders, IDX files."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from regard.data import read_rows
from regard.data.contents import Contents
from regard.data.image import on_canvas, open_picture
from regard.data.readers import Row
from regard.errors import RegardError


def problems(rows: object) -> list[str | None]:
    return [row.problem for row in rows.with_problems()]  # type: ignore[attr-defined]


def test_flickr8k_lines_and_the_split_beside_them(tmp_path: Path) -> None:
    tokens = tmp_path / "Flickr8k.token.txt"
    tokens.write_text("a.jpg#0\tA dog runs .\na.jpg#1@A black dog .\nb.jpg#0\tTwo #1 fans @ play .\n")
    (tmp_path / "available_images.tsv").write_text("a.jpg\ttrain\nb.jpg\ttest\n")
    rows = list(read_rows(tokens, fields=["image", "caption", "split", "number"], format="flickr8k"))
    assert rows == [
        {"image": "a.jpg", "caption": "A dog runs .", "split": "train", "number": "0"},
        {"image": "a.jpg", "caption": "A black dog .", "split": "train", "number": "1"},
        {"image": "b.jpg", "caption": "Two #1 fans @ play .", "split": "test", "number": "0"},
    ]
    assert [row.where for row in rows] == [f"{tokens}:{line}" for line in (1, 2, 3)]


def test_flickr8k_official_lists_give_the_split_and_others_have_none(tmp_path: Path) -> None:
    tokens = tmp_path / "Flickr8k.token.txt"
    tokens.write_text("a.jpg#0\tOne .\nb.jpg#0\tTwo .\nc.jpg#0\tThree .\n")
    for part, name in (("train", "a.jpg"), ("dev", "b.jpg"), ("test", "")):
        (tmp_path / f"Flickr_8k.{part}Images.txt").write_text(f"{name}\n")
    rows = list(read_rows(tokens, fields=["image", "split"], format="flickr8k"))
    assert rows == [
        {"image": "a.jpg", "split": "train"},
        {"image": "b.jpg", "split": "dev"},
        {"image": "c.jpg"},
    ]


def test_flickr8k_says_what_is_wrong(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("a.jpg#0\tOne .\nno caption here\n")
    (problem,) = filter(None, problems(read_rows(tokens, fields=["image"], format="flickr8k")))
    assert "picture.jpg#0" in problem
    with pytest.raises(RegardError, match=r"available_images\.tsv"):
        list(read_rows(tokens, fields=["image", "split"], format="flickr8k"))
    with pytest.raises(RegardError, match="image, caption, split, number, but no text"):
        list(read_rows(tokens, fields=["text"], format="flickr8k"))


def test_the_split_files_count_for_the_fingerprint(tmp_path: Path) -> None:
    tokens, table = tmp_path / "tokens.txt", tmp_path / "available_images.tsv"
    tokens.write_text("a.jpg#0\tOne .\n")
    table.write_text("a.jpg\ttrain\n")
    before = read_rows(tokens, fields=["image", "split"], format="flickr8k").fingerprint()
    table.write_text("a.jpg\ttest\n")
    assert read_rows(tokens, fields=["image", "split"], format="flickr8k").fingerprint() != before


def test_coco_joins_captions_to_their_pictures(tmp_path: Path) -> None:
    file = tmp_path / "captions.json"
    content = {
        "images": [{"id": 9, "file_name": "nine.jpg"}, {"id": 4, "file_name": "four.jpg"}],
        "annotations": [
            {"id": 1, "image_id": 4, "caption": "A cat.\n"},
            {"id": 2, "image_id": 9, "caption": "A dog\nsits."},
            {"id": 3, "image_id": 5, "caption": "Nobody."},
        ],
    }
    file.write_text(json.dumps(content))
    rows = read_rows(file, fields=["image", "caption", "id"], format="coco", bad_rows="skip")
    assert list(rows) == [
        {"image": "four.jpg", "caption": "A cat.", "id": "4"},
        {"image": "nine.jpg", "caption": "A dog sits.", "id": "9"},
    ]
    assert problems(rows)[2] == "is a caption of the image 5, which is not among the images"


def test_karpathys_layout_has_the_split(tmp_path: Path) -> None:
    file = tmp_path / "dataset_coco.json"
    sentences = [{"raw": "A dog."}, {"raw": "A cat."}]
    image = {
        "filename": "a.jpg",
        "filepath": "val2014",
        "split": "restval",
        "cocoid": 7,
        "sentences": sentences,
    }
    file.write_text(json.dumps({"images": [image], "dataset": "coco"}))
    assert list(read_rows(file, fields=["image", "caption", "split"], format="coco")) == [
        {"image": "val2014/a.jpg", "caption": "A dog.", "split": "restval"},
        {"image": "val2014/a.jpg", "caption": "A cat.", "split": "restval"},
    ]


@pytest.mark.parametrize(("text", "words"), [("[1", "not valid JSON"), ("[1]", "no list of images")])
def test_coco_refuses_what_is_no_caption_file(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "captions.json"
    file.write_text(text)
    with pytest.raises(RegardError, match=words):
        list(read_rows(file, fields=["image"], format="coco"))


def statement(identifier: str, directory: str = "2") -> str:
    record = {
        "sentence": "There is a tower.",
        "label": "true",
        "identifier": identifier,
        "directory": directory,
    }
    return json.dumps(record)


def test_nlvr_takes_the_arrangements_that_are_there(tmp_path: Path) -> None:
    file, archive = tmp_path / "dev.json", tmp_path / "dev.images.zip"
    file.write_text(statement("31-1") + "\n" + statement("7-0", "5") + "\n")
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("images/2/dev-31-1-0.png", "images/2/dev-31-1-3.png"):
            packed.writestr(name, b"pixels")
    fields = ["image", "label", "directory", "arrangement"]
    rows = list(read_rows(file, fields=fields, format="nlvr", images=str(archive)))
    assert rows == [
        {"image": "images/2/dev-31-1-0.png", "label": "true", "directory": "2", "arrangement": "0"},
        {"image": "images/2/dev-31-1-3.png", "label": "true", "directory": "2", "arrangement": "3"},
        {"image": "5/dev-7-0-0.png", "label": "true", "directory": "5", "arrangement": "0"},
    ]
    assert {row.folder for row in rows} == {str(archive)}


def test_nlvr_reports_lines_that_lack_something(tmp_path: Path) -> None:
    file = tmp_path / "dev.json"
    file.write_text('{"sentence": "x", "label": "true"}\nnot json\n')
    found = problems(read_rows(file, fields=["image", "label"], format="nlvr"))
    assert found[0] == "has no identifier"
    assert found[1] is not None and "not valid JSON" in found[1]


def test_im2latex_lists_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "formulas.lst").write_text("x^2\n\\frac{a}{b}\n")
    (tmp_path / "train.lst").write_text("1 60ee748793 basic\n0 66667cee5b basic\n9 deadbeef00 basic\n")
    (tmp_path / "filtered.lst").write_text("60ee748793.png 1\n")
    rows = read_rows(tmp_path / "train.lst", fields=["image", "formula"], format="im2latex", bad_rows="skip")
    assert list(rows) == [
        {"image": "60ee748793.png", "formula": "\\frac{a}{b}"},
        {"image": "66667cee5b.png", "formula": "x^2"},
    ]
    assert problems(rows)[2] == "names formula 9, but formulas.lst has 2 (0 to 1)"
    named = f"{tmp_path / 'filtered.lst'}+{tmp_path / 'formulas.lst'}"
    assert list(read_rows(named, fields=["image", "formula"], format="im2latex")) == [
        {"image": "60ee748793.png", "formula": "\\frac{a}{b}"}
    ]


def test_im2latex_without_formulas_says_which_are_expected(tmp_path: Path) -> None:
    (tmp_path / "train.lst").write_text("1 60ee748793 basic\n")
    with pytest.raises(RegardError, match=r"formulas\.lst.*\+FORMULAS"):
        read_rows(tmp_path / "train.lst", fields=["image"], format="im2latex")


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    for name in ("cat/2.png", "cat/10.png", "dog/deep/1.JPG", "dog/notes.txt", ".hidden/3.png", "loose.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    expected: list[dict[str, str]] = [
        {"image": "cat/10.png", "label": "cat"},
        {"image": "cat/2.png", "label": "cat"},
        {"image": "dog/deep/1.JPG", "label": "dog"},
        {"image": "loose.png"},
    ]
    rows = list(read_rows(tmp_path, fields=["image", "label"], format="folder"))
    assert rows == expected
    assert rows[0].folder == str(tmp_path) and rows[0].where == str(tmp_path / "cat/10.png")

    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for row in expected:
            packed.write(tmp_path / row["image"], row["image"])
    assert list(read_rows(tmp_path / "packed.zip", fields=["image", "label"], format="folder")) == expected


def test_a_new_picture_changes_the_fingerprint_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").write_bytes(b"")
    before = read_rows(tmp_path, fields=["image"], format="folder").fingerprint()
    (tmp_path / "cat" / "2.png").write_bytes(b"")
    assert read_rows(tmp_path, fields=["image"], format="folder").fingerprint() != before


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no images here"):
        list(read_rows(tmp_path, fields=["image", "label"], format="folder"))


def idx_files(folder: Path, labels: bytes = b"\x07\x03") -> str:
    """Two images of 2 × 3, in the format of Fashion-MNIST."""
    pictures = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(12))
    with gzip.open(folder / "images-idx3-ubyte.gz", "wb") as file:
        file.write(pictures)
    with gzip.open(folder / "labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes([0, 0, 8, 1, 0, 0, 0, len(labels)]) + labels)
    return f"{folder / 'images-idx3-ubyte.gz'}+{folder / 'labels-idx1-ubyte.gz'}"


def pixels(row: Row) -> list[list[int]]:
    picture = open_picture(Contents().read(row["image"]), "is a picture")
    return on_canvas(picture, (2, 3), color="gray")[:, :, 0].tolist()


def test_idx_files_give_pictures_and_classes(tmp_path: Path) -> None:
    rows = list(read_rows(idx_files(tmp_path), fields=["image", "label"], format="idx"))
    assert [row["label"] for row in rows] == ["7", "3"]
    assert [pixels(row) for row in rows] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]


def test_idx_files_that_do_not_belong_together(tmp_path: Path) -> None:
    both = idx_files(tmp_path, labels=b"\x01")
    with pytest.raises(RegardError, match="2 images, but 1 labels"):
        list(read_rows(both, fields=["image", "label"], format="idx"))
    images, labels = both.split("+")
    with pytest.raises(RegardError, match="images first"):
        list(read_rows(f"{labels}+{images}", fields=["image", "label"], format="idx"))
    with pytest.raises(RegardError, match="takes two files"):
        read_rows(images, fields=["image", "label"], format="idx")


def test_images_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_text("a.png\tcat\n")
    with pytest.raises(RegardError, match="no such folder or archive"):
        read_rows(tmp_path / "rows.tsv", fields=["image", "label"], images=str(tmp_path / "nowhere"))
