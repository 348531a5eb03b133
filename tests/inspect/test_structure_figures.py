"""Figures of structures against the numbers of their traces."""

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pytest
from drawn_structures import HEADS, RELATIONS, STORY, WORDS, any_heads, spelled, story, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.inspect import arcs, compare, figure, hops, samples, segments, trace_page
from regard.inspect.drawings.arcs import ArcDiagram
from regard.inspect.drawings.arcs_layout import Arc, levels, ports
from regard.inspect.drawings.hops import HopTable
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.drawings.segments import SegmentBands
from regard.inspect.scene import Group, Rect, Shape, Text
from regard.trace import Arcs, Hops, Segments, Trace

anything = st.text(alphabet=st.characters(codec=None), max_size=6)


def texts(scene):
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]


def tagged(scene, kind, name):
    return [mark for mark in scene.walk() if isinstance(mark, kind) and name in dict(mark.tags)]


def bows(scene):
    return {(int(t["head"]), int(t["child"]), t["role"]): mark
            for mark in tagged(scene, Shape, "role") for t in [dict(mark.tags)]}  # fmt: skip


def crown(path):
    return min(numbers[i] for _, numbers in path.steps for i in range(1, len(numbers), 2))


def test_every_arc_is_drawn_once_in_its_role():
    drawn = bows(arcs(tree()))
    best = {(h, m, "best") for m, h in enumerate(HEADS, 1) if m != 6}
    assert set(drawn) == best | {(5, 6, "wrong"), (3, 6, "missed"), (2, 6, "other")}
    assert {key: dict(path.tags)["value"] for key, path in drawn.items() if key[1] == 6} == {
        (5, 6, "wrong"): "0.6", (3, 6, "missed"): "0.25", (2, 6, "other"): "0.15",
    }  # fmt: skip


def test_strength_is_width_and_opacity():
    drawn = bows(arcs(tree()))
    strong, weak, faint = drawn[2, 1, "best"], drawn[5, 6, "wrong"], drawn[2, 6, "other"]
    assert strong.width > weak.width > faint.width
    assert strong.opacity == 1 and 1 > weak.opacity > faint.opacity > 0


def test_roles_differ_in_form_and_not_only_in_color():
    drawn = bows(arcs(tree()))
    forms = {role: path.dashes for (_, _, role), path in drawn.items()}
    assert forms["best"] == forms["wrong"] == () != forms["missed"] != forms["other"] != ()
    scene = arcs(tree())
    crossed = [
        [mark for mark in group.marks if isinstance(mark, Shape) and mark.stroke == "series-3"]
        for group in scene.walk() if isinstance(group, Group) and group.kind == "arc"
    ]  # fmt: skip
    assert sum(map(len, crossed)) == 1  # the label has the cross
    assert (
        len([m for m in scene.walk() if isinstance(m, Shape) and m.stroke == "series-3" and m.width == 1.7])
        == 4
    )


def test_of_an_uncertain_tree_the_strongest_other_arcs_are_drawn_and_the_rest_counted():
    marginals = np.full((9, 9), 0.2)
    marginals[5, 7] = 0.3
    scene = arcs(Trace({"s": ["w"] * 8}, ["x"], structures={"s": Arcs([0, *range(1, 8)], marginals)}))
    others = [(head, child) for head, child, role in bows(scene) if role == "other"]
    assert len(others) == 4 and (5, 7) in others
    assert "also probable (4 of 56)" in texts(scene)  # 8 × 8 possible arcs, 8 of them in the tree


def test_without_truth_or_marginals_there_is_only_the_tree():
    scene = arcs(tree(marginals=False, truth=False))
    assert {role for _, _, role in bows(scene)} == {"best"}
    assert "best tree" not in texts(scene)


def test_relations_are_written_and_mistaken_ones_shown_beside_the_true():
    assert [text for text in texts(arcs(tree())) if text in RELATIONS].count("det") == 2
    trace = Trace(
        {"s": ["I", "ran"]},
        ["x"],
        structures={"s": Arcs([2, 0], None, ["obj", "root"], [2, 0], ["nsubj", "root"])},
    )
    assert "obj≠nsubj" in texts(arcs(trace))


def test_the_words_of_an_arc_are_in_its_tip():
    tips = {group.tip for group in arcs(tree()).walk() if isinstance(group, Group) and group.kind == "arc"}
    assert "cat → with  prep  0.600\nnot true" in tips
    assert "saw → with  prep  0.250\ntrue, but missed" in tips
    assert "dog → the  det  1.000\ntrue" in tips


def test_wider_arcs_are_higher_and_missed_ones_hang_below():
    drawn = bows(arcs(tree()))
    assert crown(drawn[3, 5, "best"]) < crown(drawn[5, 4, "best"])
    base = drawn[5, 4, "best"].steps[0][1][1]
    assert crown(drawn[3, 6, "missed"]) > base


def test_a_description_says_how_much_is_true():
    assert "6 of 7 heads are true" in arcs(tree()).description
    assert "with ← cat as prep (0.60)" in arcs(tree()).description


def random_projective(generator, low, high, head, heads):
    """Random projective heads of the words low .. high below a head, by splitting the span."""
    if low > high:
        return
    middle = int(generator.integers(low, high + 1))
    heads[middle - 1] = head
    random_projective(generator, low, middle - 1, middle, heads)
    random_projective(generator, middle + 1, high, middle, heads)


@pytest.mark.parametrize("seed", range(20))
def test_arcs_of_projective_trees_do_not_cross_as_lines(seed):
    heads = [0] * 12
    random_projective(np.random.default_rng(seed), 1, 12, 0, heads)
    listed = [Arc(head, child, "best") for child, head in enumerate(heads, 1)]
    heights = levels(listed)
    placed = ports(listed, heights, 12)
    lines = []
    for i, arc in enumerate(listed):
        start, end = placed.ends[i]
        if arc.head:
            x1, x2 = sorted((100 * arc.head + start, 100 * arc.child + end))
            lines.append((x1, x2, heights[i]))
    for (a1, a2, a), (b1, b2, b) in combinations(lines, 2):
        for (x1, x2, high), (y1, y2, other) in (((a1, a2, a), (b1, b2, b)), ((b1, b2, b), (a1, a2, a))):
            # A vertical line at y1 or y2 that reaches `other` must not cross the level of an arc above it.
            assert not (x1 < y1 < x2 and other >= high) and not (x1 < y2 < x2 and other >= high)
            assert (x1, high) != (y1, other) or (x1, x2) == (y1, y2)


def test_long_sentences_stay_on_a_screen():
    trace = Trace({"s": ["establishment"] * 40}, ["x"], structures={"s": Arcs([0, *range(1, 40)])})
    assert arcs(trace).width < 1100


def test_right_to_left_sentences_begin_on_the_right():
    trace = Trace({"s": ["הילד", "אכל", "תפוח"]}, ["x"], structures={"s": Arcs([2, 0, 2])})
    places = [mark.x for mark in tagged(arcs(trace), Text, "token")]
    assert places == sorted(places, reverse=True)


def test_the_matrix_has_all_marginals_and_outlines_the_truth():
    scene = arcs(tree(), matrix=True)
    matrix = next(content for content in scene.contents() if isinstance(content, Matrix))
    assert matrix.rows == ("root", *WORDS) and matrix.columns == tuple(WORDS)
    assert matrix.values[5, 5] == pytest.approx(0.6)  # cat → with
    assert matrix.truth.sum() == 7 and matrix.truth[3, 5] == 1


def test_bands_have_every_weight_once_at_its_place():
    trace = spelled()
    scene = segments(trace)
    rows = [mark for mark in scene.walk() if isinstance(mark, Group) and mark.kind == "row"]
    assert [dict(row.tags)["label"] for row in rows] == ["dog", "barks"]
    for row, weights in zip(rows, trace.structures["letters"].weights, strict=True):
        cells = [mark for mark in row.marks if isinstance(mark, Rect) and "value" in dict(mark.tags)]
        assert [float(dict(cell.tags)["value"]) for cell in cells] == pytest.approx(weights)
        assert [cell.fill.value for cell in cells] == pytest.approx(weights)


def test_segments_are_marked_as_runs():
    scene = segments(spelled())
    [first, *rest] = tagged(scene, Rect, "truth")
    assert len(rest) == 1
    best = tagged(scene, Rect, "best")
    assert len(best) == 3  # one of the first word, two of the second
    cell = tagged(scene, Rect, "value")[0]
    assert first.width == pytest.approx(4 * cell.width, abs=5)


def test_the_truth_of_the_trace_serves_segments_that_have_none():
    trace = spelled()
    bare = Trace(
        trace.input, trace.output, trace.attention, truth={"letters": [[1] * 4 + [0] * 5, [0] * 9]},
        structures={"letters": Segments(trace.structures["letters"].weights)},
    )  # fmt: skip
    assert len(tagged(segments(bare), Rect, "truth")) == 1


def test_a_description_names_the_segments():
    assert segments(spelled()).description == "dog looks at hund; barks looks at h, bell."


def test_hops_have_every_weight_and_mark_choice_and_truth():
    scene = hops(story())
    cells = tagged(scene, Rect, "value")
    values = {int(dict(cell.tags)["column"]): [] for cell in cells}
    for cell in cells:
        values[int(dict(cell.tags)["column"])].append(float(dict(cell.tags)["value"]))
    assert values == {0: [0.9, 0.06, 0.04], 1: [0.1, 0.5, 0.4]}
    assert len(tagged(scene, Rect, "best")) == 2 and len(tagged(scene, Rect, "truth")) == 2
    assert set(STORY) <= set(texts(scene))
    assert {"1", "2", "hop 1", "hop 2"} <= set(texts(scene))
    assert "Hop 2 reads: Bob slept. (0.50)" in scene.description


def test_with_more_hops_than_facts_those_that_read_a_fact_are_outlined():
    table = HopTable(STORY, Hops(np.full((3, 3), 1 / 3), [0, 0, 1], [0, 2]))
    assert [(place, hop) for place in range(3) for hop in range(3) if table.is_true(place, hop)] == [
        (0, 0),
        (0, 1),
    ]
    assert [table.true_order(place) for place in range(3)] == [[1], [], [2]]


def test_long_sentences_of_a_story_are_wrapped_and_not_cut():
    long = " ".join(f"word{i}" for i in range(30))
    trace = Trace({"s": ["x"]}, ["y"], structures={"s": Hops([[1.0]], positions=[long])})
    scene = hops(trace)
    assert scene.width < 640
    assert " ".join(text for text in texts(scene) if text.startswith("word")) == long


def test_the_figure_of_a_trace_is_that_of_its_structure():
    assert isinstance(next(figure(tree()).contents()), ArcDiagram)
    assert [type(content) for content in figure(spelled()).contents()] == [SegmentBands]
    scene = figure(story())
    assert [type(content) for content in scene.contents()] == [HopTable]
    assert scene.title == "where is the milk ? → garden  (0.75)"


def test_attention_that_a_structure_does_not_show_is_shown_beside_it():
    both = Trace({"s": ["a", "b"]}, ["x"], {"s": [[0.5, 0.5]]}, structures={"s": Arcs([2, 0])})
    assert [type(content) for content in figure(both).contents()] == [ArcDiagram, Matrix]


def test_four_panels_with_the_truth_first():
    structured = spelled()
    simple = Trace(structured.input, structured.output, structured.attention)
    scene = compare([("simple", simple), ("sigmoid", simple), ("structured", structured)])
    shown = list(scene.contents())
    assert [bands.title for bands in shown] == ["truth", "simple", "sigmoid", "structured"]
    assert np.array_equal(shown[0].segments.weights, structured.structures["letters"].truth)
    assert np.array_equal(shown[1].segments.weights, simple.attention["letters"])
    assert [len(tagged(compare([("a", simple)]), Rect, "value"))] == [18]  # no truth, no panel for it
    stacked = compare([("simple", simple), ("structured", structured)], across=1, truth="")
    assert texts(stacked).count("barks") == 2 and len(list(stacked.contents())) == 2


def test_trees_and_hops_are_compared_with_their_truth():
    trees = list(compare([("one", tree()), ("two", tree(marginals=False))]).contents())
    assert [diagram.title for diagram in trees] == ["truth", "one", "two"]
    assert trees[0].arcs.heads.tolist() == tree().structures["sentence"].true_heads.tolist()
    tables = list(compare([("one", story())]).contents())
    assert tables[0].hops.weights.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_panels_that_show_nothing_are_refused():
    with pytest.raises(RegardError, match="no panels"):
        compare([])
    with pytest.raises(RegardError, match="'b' shows nothing over 'letters'"):
        compare([("a", spelled()), ("b", tree())])
    with pytest.raises(RegardError, match="no arcs over 'z'; it has: sentence"):
        arcs(tree(), over="z")
    with pytest.raises(RegardError, match="no segments over None; it has: none"):
        segments(tree())
    with pytest.raises(RegardError, match="no hops"):
        hops(tree())
    with pytest.raises(RegardError, match="no samples"):
        samples(tree())


def test_samples_are_drawn_once_each_with_their_counts():
    other = [*HEADS[:5], 2, 6]
    scene = samples(tree(samples=[HEADS, other, HEADS]))
    shown = list(scene.contents())
    assert [diagram.title for diagram in shown] == ["2 of 3", "1 of 3"]
    assert shown[1].arcs.heads.tolist() == other
    assert [bands.title for bands in samples(spelled()).contents()] == ["2 of 3", "1 of 3"]
    tables = list(samples(story(), most=1).contents())
    assert len(tables) == 1 and tables[0].hops.weights.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_a_page_shows_marginals_and_samples():
    page = trace_page(tree(samples=[HEADS]))
    assert "<h2>Marginals</h2>" in page and "<h2>Samples</h2>" in page
    assert "<h2>Marginals</h2>" not in trace_page(tree(marginals=False))


@settings(max_examples=40, deadline=None)
@given(st.lists(anything, min_size=1, max_size=5), st.data())
def test_any_words_give_well_formed_xml(words, data):
    count = len(words)
    heads, true = (data.draw(any_heads(count)) for _ in range(2))
    marginals = np.full((count + 1, count + 1), 0.3)
    tree = Arcs(heads, marginals, words, true, words, [heads, true])
    bands = Segments(np.full((count, count), 0.5), np.eye(count), np.eye(count), [np.eye(count)])
    reading = Hops(np.full((2, count), 0.5), [0, -1], [0], [[0, 0]])
    for structure in (tree, bands, reading):
        trace = Trace({"s": words}, words, structures={"s": structure})
        for scene in (figure(trace), samples(trace), compare([("a", trace)])):
            ElementTree.fromstring(scene.svg())


@pytest.mark.parametrize("structure", [Arcs([]), Segments(np.zeros((1, 0))), Hops(np.zeros((2, 0)))])
def test_an_empty_input_is_still_a_figure(structure):
    scene = figure(Trace({"s": []}, ["x"], structures={"s": structure}))
    assert scene.width > 0 and scene.height > 0
    assert "nothing to show" in texts(scene)


@pytest.mark.parametrize("make", [tree, spelled, story])
@pytest.mark.parametrize(
    ("ending", "first"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")]
)
def test_figures_are_written_as_files(make, ending, first, tmp_path):
    if ending in ("png", "pdf"):
        pytest.importorskip("matplotlib")
    make().save(tmp_path / f"figure.{ending}")
    assert (tmp_path / f"figure.{ending}").read_bytes().startswith(first)


def test_a_page_is_named_by_the_sentence_or_the_question():
    assert f"<h1>{' '.join(WORDS)}</h1>" in trace_page(tree())
    assert "<h1>where is the milk ? → garden  (0.75)</h1>" in trace_page(story())
