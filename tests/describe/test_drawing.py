"""The drawing of a network against the network itself: every system of the zoo."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from regard import zoo
from regard.describe import answers, draw
from regard.describe.graph import graph
from regard.describe.vertices import Graph, Vertex
from regard.inspect.scene import Group, Mark, Rect, Scene, Text
from regard.inspect.scene import Shape as Line
from regard.inspect.writing import text_width
from regard.model.building import build_network
from regard.model.counting import fitted_to_nothing, parameter_counts
from regard.spec import Spec
from tests.describe.variants import variants

pytestmark = pytest.mark.thinned(3)

SEEN = ["translation", "add", "nli-syntax", "ntm-copy", "image-qa-attention", "dialog-context", "tree-lstm"]
SEEN += ["pointer-hull", "facts", "lm-word", "tagger-crf", "video-caption-both", "sum", "speech-location"]
"""Systems whose drawings are measured, text by text."""


@cache
def made(name: str) -> Graph:
    return graph(zoo.find(name), name)


@cache
def drawn(name: str) -> Scene:
    return draw(zoo.find(name), name)


def network_of(spec: Spec) -> torch.nn.Module:
    columns = fitted_to_nothing(spec)
    with torch.device("meta"):
        return build_network(spec, columns, read_files=False)


def panel(scene: Scene, kind: str) -> list[Group]:
    return [mark for mark in scene.walk() if isinstance(mark, Group) and mark.kind == kind]


def inside(group: Group, dx: float = 0.0, dy: float = 0.0) -> list[tuple[Mark, float, float]]:
    """Every mark of a group with its offset."""
    found: list[tuple[Mark, float, float]] = []
    for mark in group.marks:
        found.append((mark, dx + group.dx, dy + group.dy))
        if isinstance(mark, Group):
            found += inside(mark, dx + group.dx, dy + group.dy)
    return found


def units_drawn(group: Group) -> dict[str, Group]:
    tagged = [(dict(one.tags).get("unit"), one) for one, _, _ in inside(group) if isinstance(one, Group)]
    return {key: one for key, one in tagged if key is not None}


@pytest.mark.parametrize("name", zoo.names())
def test_the_counts_are_those_of_the_network(name: str) -> None:
    found = made(name)
    spec = zoo.find(name)
    network = network_of(spec)
    sizes = {place: weight.numel() for place, weight in network.named_parameters()}
    assert found.total == sum(sizes.values())
    counted: Counter[str] = Counter()
    for unit in found.units():
        counted.update(unit.weights)
    assert dict(counted) == sizes  # each parameter exactly once
    # The number of a part is the sum over its boxes, that of the network the sum over its parts.
    assert sum(part.count for part in found.parts) == found.total
    assert all(unit.kind != "box" for unit in found.units())  # every weight belongs to an equation


@pytest.mark.parametrize("name", SEEN)
def test_the_total_is_what_describe_prints(name: str) -> None:
    said = next(
        mark.text
        for mark in drawn(name).walk()
        if isinstance(mark, Text) and mark.text.endswith(" parameters")
    )
    counts, _ = parameter_counts(zoo.find(name), None)

    def terms(text: str) -> set[str]:
        return {term for term in text.removesuffix(" parameters").split(" + ") if term != "0"}

    assert terms(said) == terms(counts["together"])


@pytest.mark.parametrize("name", SEEN)
def test_every_unit_stands_once_in_the_rolled_drawing_and_its_arrows_lead_there(name: str) -> None:
    found, (rolled,) = made(name), panel(drawn(name), "rolled")
    boxes = [dict(one.tags)["unit"] for one, _, _ in inside(rolled) if isinstance(one, Group) and one.tags]
    assert sorted(boxes) == sorted(unit.key for unit in found.units())
    lines = [one for one, _, _ in inside(rolled) if isinstance(one, Line) and dict(one.tags)]
    wired = {(dict(one.tags)["from"], dict(one.tags)["to"]) for one in lines}
    assert wired == {(arrow.source, arrow.target) for arrow in found.arrows}
    places = {key: (group.dx, group.dy, frame(group)) for key, group in units_drawn(rolled).items()}
    for line in lines:
        tags = dict(line.tags)
        (x0, y0), (x1, y1) = line.steps[0][1], line.steps[-1][1]
        left, top, (width, height) = places[tags["from"]]
        assert left <= x0 <= left + width and y0 == pytest.approx(top + height)
        left, top, (width, height) = places[tags["to"]]
        assert left <= x1 <= left + width and top - 5 <= y1 <= top


def frame(group: Group) -> tuple[float, float]:
    rect = next(one for one in group.marks if isinstance(one, Rect))
    return rect.width, rect.height


@pytest.mark.parametrize("name", ["translation", "nli-syntax", "lm-word", "dialog-memory", "nli-plain"])
def test_shared_weights_have_one_color_and_others_do_not_share_it(name: str) -> None:
    found = made(name)
    network = network_of(zoo.find(name))
    tensors: dict[str, set[int]] = {unit.key: {id(one.tensor) for one in unit.held} for unit in found.units()}
    assert any(tensors.values()) and len(dict(network.named_parameters())) > 1
    fills: dict[str, set[str]] = {}
    looks: dict[str, tuple[str, tuple[float, ...]]] = {}
    for kind in ("rolled", "unrolled"):
        for group in panel(drawn(name), kind):
            for key, box in units_drawn(group).items():
                unit = key.partition("|")[0]
                shaded = [one for one in box.marks if isinstance(one, Rect) and one.opacity < 1]
                fills.setdefault(unit, set()).update(str(one.fill) for one in shaded)
                edge = next((one for one in box.marks if isinstance(one, Line)), None)
                if edge is not None and shaded:
                    looks[unit] = (str(shaded[0].fill), edge.dashes)
    assert all(len(colors) <= 1 for colors in fills.values())  # one color in both drawings and all steps
    by_key = {unit.key: unit for unit in found.units()}
    for one, other in combinations([key for key in looks if key in by_key], 2):
        if by_key[one].group == by_key[other].group:
            assert looks[one] == looks[other]
        else:
            assert looks[one] != looks[other], (one, other)
    for one, other in combinations(tensors, 2):
        if tensors[one] & tensors[other] and not _halves(by_key[one], by_key[other]):
            assert by_key[one].group == by_key[other].group


def _halves(one: Vertex, other: Vertex) -> bool:
    """Whether two units hold different rows of one tensor, such as the first states of the two directions."""
    return not {held.identity for held in one.held} & {held.identity for held in other.held}


@pytest.mark.parametrize(
    ("name", "widest"), [(name, 1180.0) for name in SEEN] + [(name, 420.0) for name in SEEN[:3]]
)
def test_no_text_touches_another(name: str, widest: float) -> None:
    scene = drawn(name) if widest > 1000 else draw(zoo.find(name), name, widest=widest)
    boxes = []
    for mark, dx, dy in inside(Group(scene.marks)):
        if isinstance(mark, Text):
            width = text_width(mark.text, mark.size)
            left = dx + mark.x - {"start": 0, "middle": width / 2, "end": width}[mark.anchor]
            top = dy + mark.y - 0.75 * mark.size
            boxes.append((left, top, left + width, top + 0.95 * mark.size, mark.text))
            assert left >= 0 and left + width <= scene.width + 1, mark.text
            assert top >= 0 and top + mark.size <= scene.height + 1, mark.text
    for one, other in combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)


@pytest.mark.parametrize("name", ["translation", "nli-syntax", "image-qa-attention"])
def test_wires_touch_no_text_and_cross_no_box(name: str) -> None:
    for kind in ("rolled", "unrolled"):
        (found,) = panel(drawn(name), kind)
        check_wires(found)


def check_wires(rolled: Group) -> None:
    texts, boxes = [], []
    for mark, dx, dy in inside(rolled):
        if isinstance(mark, Text):
            width = text_width(mark.text, mark.size)
            left = dx + mark.x - {"start": 0, "middle": width / 2, "end": width}[mark.anchor]
            texts.append((left, dy + mark.y - 0.7 * mark.size, left + width, dy + mark.y, mark.text))
        if isinstance(mark, Group) and dict(mark.tags).get("unit"):
            if not any(isinstance(one, Rect) for one in mark.marks):
                continue  # ⋯
            width, height = frame(mark)
            boxes.append((mark.dx, mark.dy, mark.dx + width, mark.dy + height, dict(mark.tags)["unit"]))
    for mark, _, _ in inside(rolled):
        if isinstance(mark, Line) and dict(mark.tags):
            points = [numbers for _, numbers in mark.steps]
            for (x0, y0), (x1, y1) in pairwise(points):
                left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
                for a, b, c, d, what in (*texts, *boxes):
                    crossed = left < c - 0.5 and right > a + 0.5 and top < d - 0.5 and bottom > b + 0.5
                    assert not crossed, (what, dict(mark.tags))


def test_sizes_are_those_of_the_modules() -> None:
    network = network_of(zoo.find("translation"))
    shapes = {place: tuple(weight.shape) for place, weight in network.named_parameters()}
    found = {symbol: shape for unit in made("translation").units() for symbol, shape in unit.shapes.items()}
    _, vector = shapes["encoders.source.embedding.weight"]
    cell = shapes["encoders.source.layers.0.cells.0.weight_hh"][1]
    state = shapes["decoders.target.stack.cells.0.weight_hh"][1]
    assert found["x_j"] == f"S × {vector}" and found["→h_j"] == f"S × {cell}"
    assert found["h_j"] == f"S × {2 * cell}" and found["h"] == str(2 * cell)
    assert found["e_tj"] == found["α_t"] == "T × S" and found["c_t"] == f"T × {2 * cell}"
    assert found["s_t"] == f"T × {state}" and found["p(y_t)"] == "T × V(target)"
    # The input of a cell is as wide as its weights.
    given = shapes["decoders.target.stack.cells.0.weight_ih"][1]
    parts = [int(found[one].rpartition(" ")[2]) for one in ("E_y[y_{t−1}]", "c_t")]
    assert sum(parts) == given


@pytest.mark.parametrize(
    ("name", "symbol", "size"),
    [
        ("parser-crf", "h_j", "S × 192"),  # of the last layer, not of the embeddings below it
        ("parser-crf", "a_j", "S × 192"),
        ("tree-lstm", "h_j", "S × 64"),
        ("image-class-residual", "m_0", "16"),
        ("image-class-residual", "m_2", "64"),
        ("pointer-hull", "r_t", "T × 192"),
        ("lm-word", "s_t", "T × 256"),
        ("add", "f_lηj", "2 × 4 × S × 16"),
    ],
)
def test_sizes_follow_the_specs(name: str, symbol: str, size: str) -> None:
    found = {one: shape for unit in made(name).units() for one, shape in unit.shapes.items()}
    assert found[symbol] == size


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("translation", "z_t"),
        ("caption-hard", "z_t"),
        ("translation-segments-word", "z_t"),
        ("translation-sigmoid-char", "z_t"),
        ("nli-syntax", "τ"),
        ("facts-structured", "z_ℓk"),
        ("document-class", "ζ_j"),
        ("document-class", "ζ"),
    ],
)
def test_a_selection_is_drawn_as_a_random_variable(name: str, variable: str) -> None:
    assert variable in {unit.latent for unit in made(name).units() if unit.kind == "latent"}
    (rolled,) = panel(draw(zoo.find(name), name), "rolled")
    italic = {one.text for one, _, _ in inside(rolled) if isinstance(one, Text) and one.italic}
    assert variable in italic


def test_a_random_variable_is_not_called_what_the_board_calls_something_else() -> None:
    spec = zoo.find("document-class")
    said = answers(spec)
    lines = [line for line in (*said["encoder"], *said["decoder"]) if " = " in line]
    letters = {line.partition(" = ")[0].strip().partition("_")[0] for line in lines}
    assert {"z", "α", "β"} <= letters  # z_j is the vector of a sentence
    variables = [unit.latent for unit in made("document-class").units() if unit.latent]
    assert len(variables) == len(set(variables)) == 2  # a word of each sentence, and a sentence
    assert not letters & {one.partition("_")[0] for one in variables}


def test_no_two_random_variables_have_one_name() -> None:
    for name in zoo.names():
        variables = [unit.latent for unit in made(name).units() if unit.latent]
        assert len(variables) == len(set(variables)), name
    # The transformer has three: self-attention of the encoder, self-attention and cross-attention of the
    # decoder.
    assert {"ζ_πlηj", "ζ_βℓkt", "ζ_αℓkt"} == {unit.latent for unit in made("add").units() if unit.latent}
    # Addresses by content and final addresses, of write heads (a) and read heads (r).
    told = {unit.symbol: unit.latent for unit in made("ntm-copy").units() if unit.latent}
    assert told == {one: f"ζ_{one.replace('_', '')}" for one in ("v_jka", "w_jka", "v_jkr", "w_jkr")}


@pytest.mark.parametrize("name", [*SEEN, "nli-self", "summary-hierarchical", "dialog-memory"])
def test_every_box_of_the_unrolled_drawing_has_a_name_of_its_own(name: str) -> None:
    for group in panel(drawn(name), "unrolled"):
        said = Counter(one.text for one, _, _ in inside(group) if isinstance(one, Text) and not one.bold)
        assert {text for text, times in said.items() if times > 1} <= {"⋯"}


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("translation-no-attention", "h_1"),  # read backwards: h = h_1, m_1
        ("copy-vector", "h_1"),
        ("parity", "h_S"),
        ("translation", "→h_S ←h_1"),
        ("speech", "→h_{l,S_l} ←h_l1"),  # the ends of a layer of the pyramid
        ("parser-crf", "→h_lS ←h_l1"),
    ],
)
def test_what_has_read_everything_comes_from_the_end_of_the_reading(name: str, last: str) -> None:
    """The equations say which step: h = h_1, h = [→h_S; ←h_1]."""
    (group,) = panel(drawn(name), "unrolled")
    lines = [dict(one.tags) for one, _, _ in inside(group) if isinstance(one, Line) and dict(one.tags)]
    once = {tags["to"] for tags in lines if tags["to"].endswith("|")}
    found = {
        tags["from"] for tags in lines if tags["to"] in once and not tags["from"].endswith(("|", "|all"))
    }
    said = {
        key: next(one.text for one in box.marks if isinstance(one, Text))
        for key, box in units_drawn(group).items()
    }
    assert {said[key] for key in found} == set(last.split()), {said[key] for key in found}


def test_hops_end_after_the_last_look() -> None:
    """u_1 = h′, and hop k computes u_{k+1}: three hops end with u_4, which gives the answer."""
    (group,) = panel(drawn("facts"), "unrolled")
    boxes = {
        text.text: (one, x, y)
        for one, x, y in inside(group)
        if isinstance(one, Group)
        for text in one.marks
        if isinstance(text, Text) and text.text in ("u_1", "u_2", "u_3", "u_4")
    }
    assert list(boxes) == ["u_1", "u_2", "u_3", "u_4"]
    assert len({y + one.dy for one, _, y in boxes.values()}) == 1  # in one row
    carried = {
        text for text, (one, _, _) in boxes.items() if any("weights" in dict(m.tags) for m in one.marks)
    }
    assert carried == {"u_2", "u_3", "u_4"}  # u_1 is the question itself


@pytest.mark.parametrize(
    "name", ["translation-no-attention", "lm-word", "tagger-crf", "nli-parent", "caption-start"]
)
def test_what_chooses_nothing_has_no_random_variable(name: str) -> None:
    chosen = [unit for unit in made(name).units() if unit.kind == "latent" and unit.part.startswith("enc")]
    assert not chosen


GATES = {"gru": ["r", "z", "n"], "lstm": ["i", "f", "g", "o", "m′"], "mrnn": ["m"], "rnn": []}


@pytest.mark.parametrize("cell", list(GATES))
def test_the_gates_of_a_cell_are_inside_it(cell: str) -> None:
    spec = zoo.find("reverse", [f"encoder.cell={cell}", f"decoder.cell={cell}"])
    found = graph(spec, "reverse")
    for part in found.parts:
        (function,) = part.insides
        assert [unit.symbol for unit in function.units if unit.kind == "computed"] == GATES[cell]
        cells = [one for one in spec_cells(spec) if part.key.startswith(one[0])]
        weights = sum(unit.count for unit in function.units)
        assert all(weights == count for _, count in cells)


def test_layers_have_their_own_weights() -> None:
    spec = zoo.find("translation", ["decoder.layers=3", "encoder.bidirectional=false"])
    units = {unit.symbol: unit for unit in graph(spec).units()}
    network = dict(network_of(spec).named_parameters())
    for number in (1, 2, 3):
        unit = units[f"s_{number}t"]
        cell = f"decoders.target.stack.cells.{number - 1}."
        assert unit.count == sum(one.numel() for name, one in network.items() if name.startswith(cell))
        assert all(name.startswith(cell) for name in unit.weights)
    assert len({units[f"s_{number}t"].group for number in (1, 2, 3)}) == 3


@pytest.mark.parametrize(
    "chosen", [one for one in variants() if one[0] in ("caption-start", "lm-word", "facts")]
)
def test_other_options_are_drawn_too(chosen: list[str]) -> None:
    spec = zoo.find(chosen[0], chosen[1:])
    found = graph(spec)
    assert sum(unit.count for unit in found.units()) == found.total
    ElementTree.fromstring(draw(spec).svg())


def spec_cells(spec: Spec) -> list[tuple[str, int]]:
    """(encoder or decoder, number of parameters of one of its cells)."""
    from regard.nn.cells import Cell

    found = []
    for place, module in network_of(spec).named_modules():
        if isinstance(module, Cell):
            found.append((place[:7], sum(weight.numel() for weight in module.parameters())))
    return found


def test_all_options_of_a_part_are_written_in_lines_that_break_between_options() -> None:
    texts = [mark.text for mark in drawn("caption-hard").walk() if isinstance(mark, Text)]
    (decoder,) = (part for part in made("caption-hard").parts if part.key.startswith("decoder"))
    first = next(place for place, text in enumerate(texts) if text.startswith("recurrent, "))
    lines = texts[first : first + 4]
    assert " ".join(lines) == decoder.options
    assert all(line.endswith(",") for line in lines[:-1])


def test_the_file_is_well_formed_and_says_what_it_shows(tmp_path: Path) -> None:
    target = tmp_path / "net.svg"
    drawn("translation").save(target)
    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    title, told = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None and title.text == "translation"
    assert told is not None and "encoder of source" in str(told.text) and "parameters" in str(told.text)
    numbers = re.findall(r"[\d,]+ \+ [\d,]+ V\(source\)", str(told.text))
    assert numbers, told.text


TWO = {
    "inputs": {"lemma": {"type": "text"}, "features": {"type": "text"}, "hint": {"type": "text"}},
    "outputs": {"form": {"type": "text"}},
    "encoder": {name: {"type": "recurrent", "size": 8} for name in ("lemma", "features", "hint")},
}


def test_separate_attentions_have_separate_weights() -> None:
    looks = [{"over": name, "score": "additive", "gate": True} for name in TWO["inputs"]]
    spec = Spec.parse({**TWO, "decoder": {"type": "recurrent", "size": 8, "attention": looks}})
    found = graph(spec)
    network: Any = network_of(spec)
    sizes = {name: one.numel() for name, one in network.named_parameters()}
    scores = [unit for unit in found.units() if unit.symbol.startswith("e") and unit.count]
    assert len({unit.group for unit in scores}) == len(scores) == 3
    for unit, name in zip(scores, TWO["inputs"], strict=True):
        own = {place for place in sizes if f"attentions.{name}.score" in place}
        assert set(unit.weights) == own and unit.count == sum(map(sizes.__getitem__, own))
    gates = [unit for unit in found.units() if any(".gates." in place for place in unit.weights)]
    assert len(gates) == 3
    assert not any(unit.shared for unit in found.units())
    assert "shared" not in [mark.text for mark in draw(spec).walk() if isinstance(mark, Text)]


def test_a_transformer_over_several_inputs_shares_only_its_queries() -> None:
    spec = Spec.parse({**TWO, "decoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 2}})
    found = graph(spec)
    sharing = [unit for unit in found.units() if unit.shared]
    assert [unit.symbol[:1] for unit in sharing] == [
        "e",
        "e",
    ]  # the energies of the second and the third input
    for unit in sharing:
        elsewhere = {weight.name for weight in unit.held} - set(unit.weights)
        assert all(".over.query." in name for name in elsewhere)
    sizes = {name: one.numel() for name, one in network_of(spec).named_parameters()}
    counted: Counter[str] = Counter()
    for unit in found.units():
        counted.update(unit.weights)
    assert dict(counted) == sizes


@pytest.mark.parametrize("name", ["translation", "dialog-context", "two"])
def test_a_drawing_is_not_half_empty(name: str) -> None:
    two = {**TWO, "inputs": {"lemma": {"type": "text"}, "features": {"type": "text"}}}
    two["encoder"] = {one: {"type": "recurrent", "cell": "gru", "size": 8} for one in two["inputs"]}
    spec = (
        Spec.parse({**two, "decoder": {"type": "recurrent", "cell": "gru", "size": 8}})
        if name == "two"
        else None
    )
    scene = draw(zoo.find(name), name) if spec is None else draw(spec, name)
    (rolled,) = panel(scene, "rolled")
    bottoms = {}
    for mark, _, dy in inside(Group(scene.marks)):
        if isinstance(mark, Group) and mark.kind in ("rolled", "unrolled", "inside"):
            high = max(
                (y + one.y + one.height for one, _, y in inside(mark, 0, dy) if isinstance(one, Rect)),
                default=0,
            )
            bottoms[mark.kind] = max(bottoms.get(mark.kind, 0), high)
    assert rolled.marks and bottoms["inside"] > bottoms["unrolled"]
    # Both columns end at about the same height, so the whole is little taller than the network in words.
    assert scene.height < 1.15 * bottoms["rolled"] + 250


def test_cells_with_the_same_equations_are_drawn_once() -> None:
    spec = zoo.find("dialog-context")  # three cells; those of words and turns have the same sizes
    assert sum(len(part.insides) for part in graph(spec).parts) == 3
    scene = draw(spec)
    assert len(panel(scene, "inside")) == 2
    captions = " ".join(one.text for one in scene.walk() if isinstance(one, Text) and one.bold)
    assert "inside gru_wd; gru_d alike" in captions


def test_layers_are_no_cycle() -> None:
    """In a feed-forward network no arrow leads from a box to itself, and the mean of the vectors enters the first
    layer."""
    changes = ["encoder={type: mlp, size: 64, embedding: 48}"]
    found = graph(zoo.find("sentiment", changes))
    assert not any(arrow.source == arrow.target or arrow.delayed for arrow in found.arrows)
    units = {unit.symbol: unit for unit in found.units()}
    into = {one.source for one in found.arrows if one.target == units["m_l"].key}
    assert into == {units["h_0j"].key} and units["h_0j"].shapes["h_0j"] == "S × 48"
    assert "l = 1 … 2, layer after layer" in units["m_l"].lines
    # The tagger reads the positions, and `sentiment` the summary; neither drawing has the other box.
    tagged = {unit.symbol: unit for unit in graph(zoo.find("tagger", changes)).units()}
    assert tagged["h_lj"].shapes["h_lj"] == "2 × S × 64"
    assert "l = 1 … 2, layer after layer" in tagged["h_lj"].lines
    assert "m_l" not in tagged and "h_lj" not in units
    scene = draw(zoo.find("sentiment", ["encoder={type: mlp, size: 64, embedding: 48}"]))
    (group,) = panel(scene, "unrolled")
    wires = [dict(one.tags) for one, _, _ in inside(group) if isinstance(one, Line) and dict(one.tags)]
    key = f"{units['m_l'].key}|"
    assert {one["from"] for one in wires if one["to"] == key} == {f"{units['h_0j'].key}|all"}
    # A recurrence stays one.
    recurrent = graph(zoo.find("sentiment", ["encoder.cell=rnn"]))
    assert [arrow.delayed for arrow in recurrent.arrows if arrow.source == arrow.target] == [True]
