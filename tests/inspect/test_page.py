"""Pages are self-contained, and files are written atomically."""

import io
import re
from html.parser import HTMLParser

import pytest
from drawn_traces import random_trace, tiny

from regard.errors import MissingExtra, RegardError
from regard.inspect import Card, PageSection, heatmap, page, save, trace_page
from regard.inspect.pyplot import figure, png
from regard.inspect.scene import Rect
from regard.trace import Trace
from regard.trace.prediction import Alternative, Prediction

VOID = {"meta", "br", "img"}


class Nesting(HTMLParser):
    """Counts opened and closed tags, and collects resources that a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    parser = Nesting()
    parser.feed(html)
    assert parser.open == []
    return parser


def a_page():
    return page(
        "Five <words>",
        [
            PageSection(facts={"PER": "8.9 %"}),
            PageSection(
                "Words", "First.\n\nSecond.", figures=[Card(tiny(), "cat", "K", "a note"), heatmap(tiny())]
            ),
            PageSection(
                "Numbers",
                table=(["system", "n"], [["g2p", 2000], ["a & b", 0.12345]]),
                code="regard show <run>",
            ),
        ],
        subtitle="spelling & sound",
    )


def test_a_page_needs_nothing_from_elsewhere():
    html = a_page()
    assert read(html).fetched == []
    assert set(re.findall(r"https?://[^\"'\s<]*", html)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in html and "@import" not in html


def test_a_page_says_what_it_was_given():
    text = "".join(read(a_page()).text)
    for words in (
        "Five <words>",
        "PER",
        "8.9 %",
        "First.",
        "Second.",
        "a note",
        "a & b",
        "0.1235",
        "regard show <run>",
    ):
        assert words in text


def test_a_page_has_a_dark_side_and_a_printed_one():
    html = a_page()
    assert "prefers-color-scheme:dark" in html and "@media print" in html


def test_rows_fade_without_script():
    html = a_page()
    assert ".rows:hover .row{opacity" in re.sub(r"<script>.*?</script>", "", html, flags=re.S)


def test_a_card_with_a_heading_does_not_repeat_the_title():
    html = page("t", [PageSection(figures=[Card(tiny(), "cat", "K")])])
    assert "cat → K" not in html
    assert "cat → K" in page("t", [PageSection(figures=[tiny()])])


def test_the_page_of_a_trace_shows_links_and_what_the_search_kept():
    trace = Trace({"s": ["a"]}, ["b"], {"s": [[1]]}, hypotheses=[("b", -0.1), ("c", -2.0)])
    html = trace.html()
    assert 'class="matrix"' in html and 'class="links"' in html and 'class="ranking"' in html
    assert "<title>a → b</title>" in html
    assert "My title" in trace_page(trace, title="My title")


@pytest.mark.parametrize("output", [[], ["</s>"]])
def test_a_trace_without_output_has_a_page(output):
    read(random_trace("cat", output).html())


def test_notebooks_get_the_figure_and_the_alternatives():
    prediction = Prediction("K", "K", -0.5, tiny(), [Alternative("K", -0.5), Alternative("S", -1.5)])
    html = prediction._repr_html_()
    assert html.count("<svg") == 2 and "log p = -0.500" in html
    assert tiny()._repr_html_().count("<svg") == 1
    assert Prediction("a", "a", -0.1, probabilities={"a": 0.9, "b": 0.1})._repr_html_().count("<svg") == 1


@pytest.mark.parametrize(
    ("name", "start"), [("f.svg", b"<svg"), ("f.html", b"<!doctype html>"), ("F.HTM", b"<!doctype")]
)
def test_the_ending_says_which_kind(tmp_path, name, start):
    tiny().save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_picture_has_two_pixels_for_each_unit(tmp_path):
    pytest.importorskip("matplotlib")
    pillow = pytest.importorskip("PIL.Image")
    scene = heatmap(tiny())
    scene.save(tmp_path / "f.png")
    with pillow.open(tmp_path / "f.png") as picture:
        assert picture.size == (2 * scene.width, 2 * scene.height)


def test_the_picture_has_the_colors_of_the_cells():
    pytest.importorskip("matplotlib")
    pillow = pytest.importorskip("PIL.Image")
    from regard.inspect.palette import LIGHT, Shade

    picture = pillow.open(io.BytesIO(png(heatmap(tiny())))).convert("RGB")
    colors = {color for _, color in picture.getcolors(1 << 24)}
    for weight in (0.9, 0.35, 0.65):
        shade = LIGHT.hex(Shade(weight))
        assert tuple(int(shade[i : i + 2], 16) for i in (1, 3, 5)) in colors


def test_the_picture_tells_a_true_zero_from_a_tiny_weight():
    pytest.importorskip("matplotlib")
    pillow = pytest.importorskip("PIL.Image")
    from regard.inspect.palette import DARK, LIGHT, Shade

    for theme in (LIGHT, DARK):
        scene = heatmap(Trace({"s": ["a", "b"]}, ["x"], {"s": [[0.0, 1e-9]]}), title="")
        drawn = [mark for mark in scene.walk() if isinstance(mark, Rect) and mark.tags]
        picture = pillow.open(io.BytesIO(png(scene, scale=1, theme=theme))).convert("RGB")
        middles = [
            picture.getpixel((round(20 + cell.x + cell.width / 2), round(28 + cell.y))) for cell in drawn
        ]
        expected = [theme.hex("paper"), theme.hex(Shade(0))]
        assert [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in middles] == expected


def test_a_pdf_is_one(tmp_path):
    pytest.importorskip("matplotlib")
    tiny().save(tmp_path / "f.pdf")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF-")


def test_matplotlib_draws_labels_as_they_are(tmp_path):
    pytest.importorskip("matplotlib")
    drawn = figure(heatmap(random_trace(["$x^2$", "\\frac"], ["a_b", "\x00"])))
    written = [text.get_text() for text in drawn.axes[0].texts]
    assert {"$x^2$", "\\frac", "a_b", "\ufffd"} <= set(written)
    heatmap(random_trace(["$x^2$", "\\frac", "$"], ["a_b", "\x00"])).save(tmp_path / "f.png")


def test_matplotlib_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'regard\[figures\]'"):
        png(heatmap(tiny()))


@pytest.mark.parametrize("name", ["f.gif", "f"])
def test_unknown_endings_are_refused(tmp_path, name):
    with pytest.raises(RegardError, match=r"supported are \.svg, \.html, \.png, \.pdf"):
        tiny().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_not_a_picture(tmp_path):
    with pytest.raises(RegardError, match=r"only be written as \.html"):
        save("<html>", tmp_path / "f.png")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(RegardError, match="folder to write to does not exist"):
        tiny().save(tmp_path / "nowhere" / "f.svg")


def test_a_figure_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "f.svg"
    target.write_text("old")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(RegardError, match=r"f\.svg: the file could not be written: no space left"):
        tiny().save(target)
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["f.svg"]
