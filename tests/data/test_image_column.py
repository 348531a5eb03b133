"""The image column: from a row to a batch; unusable files are rejected."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data import Batches, Dataset, ImageColumn, LabelColumn, Row, column_from_state, read_rows
from regard.data.contents import data_uri
from regard.data.dataset import read_rejected
from regard.data.readers.json_values import row_of
from regard.errors import RegardError

RED, BLUE = (255, 0, 0), (0, 0, 255)


def labels(*classes: str) -> LabelColumn:
    column = LabelColumn("label")
    column.learn(classes)
    return column


def draw(path: Path, color: tuple[int, int, int] = RED, size: tuple[int, int] = (8, 8)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)
    return path


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)


def noisy_dataset(count: int, **options: object) -> Dataset:
    column = ImageColumn("image", size=8, **options)  # type: ignore[arg-type]
    rows = [Row({"image": column.written(noise(seed)), "label": "a"}) for seed in range(count)]
    return Dataset.build(rows, [column, labels("a")])


def test_a_batch_holds_the_pixels_channels_first(tmp_path: Path) -> None:
    pixels = noise(0)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    dataset = Dataset.build([Row({"image": str(tmp_path / "a.png")})], [ImageColumn("image", size=8)])
    batch = dataset.batch([0])
    assert batch["image"].pixels.shape == (1, 3, 8, 8)
    assert (batch["image"].pixels[0].permute(1, 2, 0).numpy() == pixels).all()


def test_gray_has_one_channel_and_is_seen_in_three() -> None:
    column = ImageColumn("image", size=(2, 3), color="gray")
    encoded = column.encode(column.written(np.arange(6, dtype=np.uint8).reshape(2, 3) * 40))
    assert encoded.tolist() == [[[0], [40], [80]], [[120], [160], [200]]]
    seen = column.seen(column.collate([encoded]), 0)
    assert seen.pixels.shape == (2, 3, 3)
    assert seen.pixels[1, 2].tolist() == [200] * 3


def test_what_python_programs_have_at_hand(tmp_path: Path) -> None:
    column, pixels = ImageColumn("image", size=8), noise(1)
    picture, file = Image.fromarray(pixels), tmp_path / "a.png"
    picture.save(file)
    for value in (str(file), file, file.read_bytes(), pixels, picture, pixels / 255.0):
        assert (column.encode(column.written(value)) == pixels).all()
    deep = np.array([[0, 65535], [32768, 257]], dtype=np.uint16)
    small = ImageColumn("image", size=(2, 2), color="gray")
    assert small.encode(small.written(deep))[:, :, 0].tolist() == [[0, 255], [128, 1]]
    assert small.encode(small.written(deep > 300))[:, :, 0].tolist() == [[0, 255], [255, 0]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((3, 8, 8), np.uint8), r"\(3, 8, 8\).*Channels come last"),
        (np.zeros((2, 8, 8, 3), np.uint8), "shape"),
        (np.full((8, 8), 3.0), "float64 from 3.0 to 3.0"),
        (np.full((8, 8), np.nan), "nan"),
        (np.zeros((8, 8), np.int64), "int64"),
        (7, "received a int"),
    ],
)
def test_arrays_that_are_no_pictures(value: object, words: str) -> None:
    with pytest.raises(RegardError, match=words):
        ImageColumn("image").written(value)


def test_a_path_is_looked_for_beside_the_file_then_in_the_images_then_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path / "data" / "beside.png")
    draw(tmp_path / "here.png")
    draw(tmp_path / "album" / "deep" / "kept.png")
    rows = tmp_path / "data" / "rows.tsv"
    rows.write_text("beside.png\ta\nhere.png\ta\n")
    column = ImageColumn("image", size=8)
    dataset = Dataset.build(read_rows(rows, fields=["image", "label"]), [column, labels("a")])
    assert [dataset.raw(row)["image"] for row in (0, 1)] == [
        str(tmp_path / "data" / "beside.png"),
        str(tmp_path / "here.png"),
    ]
    rows.write_text("deep/kept.png\ta\n")
    named = read_rows(rows, fields=["image", "label"], images="album")
    dataset = Dataset.build(named, [column, labels("a")])
    assert dataset.raw(0)["image"] == str(tmp_path / "album" / "deep" / "kept.png")


def test_what_is_not_among_the_images_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    draw(tmp_path / "album" / "a.png")
    draw(tmp_path / "b.png", BLUE)
    (tmp_path / "rows.tsv").write_text("a.png\ta\nb.png\ta\n")
    rows = read_rows(tmp_path / "rows.tsv", fields=["image", "label"], images=str(tmp_path / "album"))
    dataset = Dataset.build(rows, [ImageColumn("image", size=2), labels("a")])
    assert [dataset[row]["image"][0, 0].tolist() for row in (0, 1)] == [list(RED), list(BLUE)]


@pytest.mark.parametrize("form", ["bytes", "struct", "pillow"])
def test_pictures_inside_a_table(tmp_path: Path, form: str) -> None:
    """As stored in Parquet files of the Hugging Face Hub, and as decoded by the Hub's library."""
    content = draw(tmp_path / "a.png").read_bytes()
    forms = {
        "bytes": content,
        "struct": {"bytes": content, "path": None},
        "pillow": Image.open(tmp_path / "a.png"),
    }
    row = row_of({"image": forms[form], "label": 3}, ["image", "label"], file="f", line=1)
    assert row.problem is None and row["label"] == "3"
    assert ImageColumn("image", size=2).encode(row["image"])[0, 0].tolist() == list(RED)
    assert (
        row_of({"image": b"\x00\x01"}, ["image"], file="f", line=1).problem
        == "has a bytes in image, expected text"
    )


def test_pictures_out_of_an_archive(tmp_path: Path) -> None:
    draw(tmp_path / "red.png")
    with zipfile.ZipFile(tmp_path / "album.zip", "w") as archive:
        archive.write(tmp_path / "red.png", "deep/red.png")
    (tmp_path / "red.png").unlink()
    (tmp_path / "rows.tsv").write_text("deep/red.png\n")
    rows = read_rows(
        tmp_path / "rows.tsv", fields=["image"], format="tsv", images=str(tmp_path / "album.zip")
    )
    dataset = Dataset.build(rows, [ImageColumn("image", size=2)])
    assert dataset[0]["image"].tolist() == [[list(RED)] * 2] * 2


def bad_pictures(folder: Path) -> Path:
    """A table of five images: one valid, and four that cannot be used."""
    draw(folder / "right.png")
    content = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(
        content, "JPEG"
    )
    (folder / "short.jpg").write_bytes(content.getvalue()[:1000])
    (folder / "text.png").write_text("This is a text.")
    (folder / "empty.png").write_bytes(b"")
    table = folder / "rows.tsv"
    names = ("right.png", "short.jpg", "text.png", "gone.png", "empty.png")
    table.write_text("".join(f"{name}\ta\n" for name in names))
    return table


REASONS = {
    2: ("short.jpg", "damaged or cut short"),
    3: ("text.png", "not an image that can be read: it begins with b'This is '"),
    4: ("gone.png", "there is no such file"),
    5: ("empty.png", "is empty (0 bytes)"),
}


def test_pictures_that_cannot_be_used_are_set_aside_with_their_reasons(tmp_path: Path) -> None:
    table = bad_pictures(tmp_path)
    rows = read_rows(table, fields=["image", "label"])
    columns = [ImageColumn("image", size=8), labels("a")]
    dataset = Dataset.build(
        rows, columns, on_bad="skip", rejected=tmp_path / "rejected.tsv", cache=tmp_path / "cache"
    )
    assert len(dataset) == 1
    rejected = read_rejected(tmp_path / "rejected.tsv")
    assert [one.line for one in rejected] == list(REASONS)
    for one in rejected:
        name, words = REASONS[one.line]
        assert one.file == str(table)
        assert one.reason.startswith("image names '") and name in one.reason and words in one.reason


def test_the_first_bad_picture_stops_by_default(tmp_path: Path) -> None:
    table = bad_pictures(tmp_path)
    with pytest.raises(
        RegardError, match=r"rows\.tsv:2: image names .*short\.jpg.*cut short.*bad_rows: skip"
    ):
        Dataset.build(
            read_rows(table, fields=["image", "label"]), [ImageColumn("image", size=8), labels("a")]
        )


def test_a_caption_file_that_names_a_missing_picture(tmp_path: Path) -> None:
    draw(tmp_path / "album" / "a.jpg")
    content = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "annotations": [{"image_id": 1, "caption": "Red."}, {"image_id": 2, "caption": "Gone."}],
    }
    (tmp_path / "captions.json").write_text(json.dumps(content))
    rows = read_rows(
        tmp_path / "captions.json", fields=["image"], format="coco", images=str(tmp_path / "album")
    )
    with pytest.raises(
        RegardError, match=r"captions\.json:2: image names .*album/b\.jpg', but there is no such file"
    ):
        Dataset.build(rows, [ImageColumn("image", size=8)])


def test_a_file_that_changed_since_is_named_when_its_batch_is_made(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        draw(tmp_path / name)
    rows = [
        Row({"image": str(tmp_path / name)}, file="rows.tsv", line=n)
        for n, name in enumerate(("a.png", "b.png"), 1)
    ]
    dataset = Dataset.build(rows, [ImageColumn("image", size=8)])
    (tmp_path / "b.png").write_bytes(b"no more")
    with pytest.raises(RegardError, match=r"rows\.tsv:2: image names .*b\.png.*changed since"):
        list(Batches(dataset, rows=1, shuffle=False, workers=2))


def test_a_changed_picture_is_checked_again_in_spite_of_the_cache(tmp_path: Path) -> None:
    file = draw(tmp_path / "a.png")
    (tmp_path / "rows.tsv").write_text("a.png\ta\n")

    def build() -> Dataset:
        rows = read_rows(tmp_path / "rows.tsv", fields=["image", "label"])
        return Dataset.build(
            rows, [ImageColumn("image", size=8), labels("a")], cache=tmp_path / "cache", on_bad="stop"
        )

    build()
    assert len(list((tmp_path / "cache").iterdir())) == 1
    build()
    assert len(list((tmp_path / "cache").iterdir())) == 1, "the same files, the same cache"
    file.write_bytes(b"no picture any more")
    with pytest.raises(RegardError, match="not an image that can be read"):
        build()
    draw(file, BLUE)
    os.utime(file, ns=(1, 1))
    assert build()[0]["image"][0, 0].tolist() == list(BLUE)


def test_a_column_comes_back_from_its_state() -> None:
    column = ImageColumn(
        "image", field="file", size=(4, 6), color="gray", fit="pad", augment={"flip": True, "crop": 0.1}
    )
    again = column_from_state(json.loads(json.dumps(column.state())))
    assert isinstance(again, ImageColumn) and again.state() == column.state()
    assert again.canvas == (4, 6) and again.augmentation == column.augmentation


def test_data_uris_with_something_else_inside() -> None:
    column = ImageColumn("image")
    with pytest.raises(RegardError, match="is a data URI of image/png, which is not an image"):
        column.encode(data_uri(b"hello", "image/png"))


def test_a_rejected_picture_does_not_fill_the_list_with_its_content(tmp_path: Path) -> None:
    column = ImageColumn("image", size=8)
    broken = column.written(column.written(noise(0)).encode())
    rows = [Row({"image": broken, "label": "a"}), Row({"image": column.written(noise(0)), "label": "a"})]
    Dataset.build(rows, [column, labels("a")], on_bad="skip", rejected=tmp_path / "rejected.tsv")
    (one,) = read_rejected(tmp_path / "rejected.tsv")
    assert one.row.startswith("data:application/octet-stream;base64,") and one.row.endswith("…\ta")
    assert len(one.row) < 80


def test_cost_is_in_patches_so_that_batches_have_many_pictures() -> None:
    dataset = noisy_dataset(10)
    assert dataset.costs.tolist() == [1] * 10
    assert ImageColumn("image", size=112).cost(np.zeros(1)) == 14 * 14


VARIED = {"flip": True, "crop": 0.3, "color": 0.4}


def pixels_of(batches: Batches, epoch: int, start: int = 0) -> list[tuple[tuple[int, ...], bytes]]:
    return [(batch.rows, batch["image"].pixels.numpy().tobytes()) for batch in batches.epoch(epoch, start)]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_threads_change_nothing(workers: int) -> None:
    dataset = noisy_dataset(40, augment=VARIED)
    alone = Batches(dataset, rows=3, seed=5, vary=True, workers=0)
    threaded = Batches(dataset, rows=3, seed=5, vary=True, workers=workers)
    for epoch in (0, 1):
        assert pixels_of(threaded, epoch) == pixels_of(alone, epoch)
    assert pixels_of(threaded, 1, start=6) == pixels_of(alone, 1)[6:], "resumed in the middle of an epoch"


def test_pictures_vary_with_the_seed_and_the_epoch_but_not_with_the_batch() -> None:
    dataset = noisy_dataset(6, augment=VARIED)

    def one(seed: int, epoch: int, rows: int) -> dict[int, bytes]:
        batches = Batches(dataset, rows=rows, seed=seed, vary=True)
        return {
            row: batch["image"].pixels[place].numpy().tobytes()
            for batch in batches.epoch(epoch)
            for place, row in enumerate(batch.rows)
        }

    assert one(1, 0, 2) == one(1, 0, 3)
    for other in (one(1, 1, 2), one(2, 0, 2)):
        assert all(other[row] != one(1, 0, 2)[row] for row in range(6))


def test_without_vary_pictures_are_as_they_are() -> None:
    dataset = noisy_dataset(4, augment=VARIED)
    (batch,) = Batches(dataset, rows=4, shuffle=False)
    for place, row in enumerate(batch.rows):
        assert (batch["image"].pixels[place].permute(1, 2, 0).numpy() == noise(row)).all()


def test_augmented_canvas_shows_a_part_of_the_picture() -> None:
    """A ramp from left to right remains a ramp, over a narrower range."""
    column = ImageColumn("image", size=(4, 64), color="gray", fit="stretch", augment={"crop": 0.5})
    ramp = column.written(np.tile(np.linspace(0, 255, 256).astype(np.uint8), (16, 1)))
    whole = column.encode(ramp)[0, :, 0].astype(int)
    for seed in range(5):
        part = column.varied(ramp, np.random.default_rng(seed))[0, :, 0].astype(int)
        assert (np.diff(part) >= 0).all()
        assert 120 < part[-1] - part[0] <= whole[-1] - whole[0]


def test_the_british_names_of_earlier_models_and_specs_are_read() -> None:
    made = ImageColumn("image", size=8, color="gray", augment={"flip": True, "color": 0.1})
    state = json.loads(json.dumps(made.state()))
    state["options"]["colour"], state["options"]["augment"]["colour"] = "grey", 0.1
    del state["options"]["color"], state["options"]["augment"]["color"]
    again = column_from_state(state)
    assert again.state() == made.state()
    options = ImageColumn.Options.model_validate({"size": 8, "colour": "grey", "augment": {"colour": 0.1}})
    assert (options.color, options.augment.color) == ("gray", 0.1)  # type: ignore[union-attr]
