"""Models of images, from a spec to figures: `show` with a row, a file and a gallery."""

from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard import fit
from regard.cli.command import Loading
from regard.cli.gallery import collect
from regard.cli.show_request import ShowRequest
from regard.cli.showing import show_trace
from regard.evaluation import open_dataset
from regard.model import Model
from regard.trace import SeenImage

SPEC = """
inputs:    {image: {type: image, size: 24}}
outputs:   {caption: {type: text, unit: word}}
truth:     {places: {type: places}}
encoder:   {type: image, network: resnet}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 8, condition: [attention]}
training:  {steps: 1}
search:    {max_length: 6}
data:      {world: {type: scenes, train: 32, dev: 4, test: 6, crowded: 0, most: 2, pixels: 24}}
"""


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained briefly on a few images."""
    folder = tmp_path_factory.mktemp("captions")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    fit(folder / "spec.yaml", run=folder / "run", device="cpu", quiet=True)
    return folder / "run"


def test_a_row_of_the_data_shows_its_picture_with_the_true_places(captions: Path, tmp_path: Path) -> None:
    request = ShowRequest(row=1)
    trace = request.by(Model.load(captions, device="cpu")).trace
    assert trace is not None
    seen = trace.seen["image"]
    assert isinstance(seen, SeenImage) and seen.pixels.shape == (24, 24, 3)
    assert seen.grid[0] * seen.grid[1] == trace.attention["image"].shape[1]
    named = [piece for piece, true in zip(trace.output, trace.truth["image"], strict=True) if true.any()]
    assert named and "a" not in named
    show_trace(captions, request, output=tmp_path / "row.svg", how=Loading(device="cpu"))
    root = ElementTree.parse(tmp_path / "row.svg").getroot()
    groups = [group.get("class") for group in root.iter("{http://www.w3.org/2000/svg}g")]
    assert groups.count("look") == len(trace.output) - 1 and groups.count("seen") == 1
    outlines = [path for path in root.iter("{http://www.w3.org/2000/svg}path") if path.get("data-truth")]
    assert len(outlines) == len(named)


def test_a_picture_of_ones_own_is_named_by_its_file(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model.load(captions, device="cpu")
    uri = open_dataset(model, (), ["test"]).raw(2)["image"]
    (tmp_path / "mine.png").write_bytes(base64.b64decode(uri.partition(",")[2]))
    show_trace(
        captions, ShowRequest(str(tmp_path / "mine.png")), grid=True, output=None, how=Loading(device="cpu")
    )
    shown = capsys.readouterr().out
    assert "┌" in shown and "9: its largest weight" in shown and "true region" not in shown


def test_a_gallery_keeps_true_places_only_for_words_that_were_written(captions: Path) -> None:
    model = Model.load(captions, device="cpu")
    dataset = open_dataset(model, (), ["test"])
    examples, seen, _ = collect(model, dataset, "caption", 2)
    assert seen == 6 and len(examples) == 4
    for example in examples:
        [true] = (text.split() for text in example.true)
        for place, known in enumerate(example.trace.truth["image"]):
            if known.any():
                assert example.trace.output[place] == true[place]
        assert example.asked == ""
