"""Figures of an external memory's tape: slots down, time across, writing beside reading."""

import io

import numpy as np
from rich.console import Console

from regard.inspect import figure
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.paths import HeadPaths
from regard.trace import Tape, Trace


def copied(**more) -> Trace:
    """Two vectors, written to slots 2 and 3 of four and read back."""
    writes, reads = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    for step, slot in enumerate((1, 2, 0, 0)):
        writes[0, step, slot] = 1.0
    for step, slot in enumerate((0, 0, 1, 2)):
        reads[0, step, slot] = 1.0
    tape = Tape(writes, reads, **more)
    return Trace({"source": ["01", "10", "_", "_"]}, ["01", "10"], kind="bits", tapes={"source": tape})


def printed(trace, width=60):
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False, _environ={})
    console.print(figure(trace))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_terminal_shows_both_panels_side_by_side():
    assert printed(copied())[:7] == [
        "external memory: writing and reading weights",
        "slots down, steps (_: answers) across",
        "  write     read",
        "  1 2 _ _   1 2 _ _",
        "1     9 9   9 9",
        "2 9             9",
        "3   9             9",
    ]


def test_a_narrow_terminal_has_them_below_each_other():
    lines = printed(copied(), width=11)
    assert max(map(len, lines)) <= 11
    assert [line for line in lines if "write" in line or "read" in line][-2:] == ["  write", "  read"]


def test_slots_that_no_head_weighted_are_left_out_and_steps_are_numbered():
    panels = [content for content in figure(copied()).contents() if isinstance(content, HeadPanels)]
    assert [matrix.title for matrix in panels[0].matrices] == ["write", "read"]
    assert panels[0].matrices[0].rows == ("1", "2", "3") and panels[0].matrices[0].columns == (
        "1",
        "2",
        "_",
        "_",
    )


def test_links_and_paths_are_drawn_where_there_are_any():
    link = np.zeros((4, 4))
    link[2, 1] = 1.0
    scene = figure(copied(link=link, write_path=np.zeros((1, 4, 2)), read_path=np.ones((1, 4, 2))))
    contents = list(scene.contents())
    (links,) = [
        one for one in contents if isinstance(one, HeadPanels) and one.matrices[0].title.startswith("link")
    ]
    assert links.matrices[0].values[2, 1] == 1.0
    (plane,) = [one for one in contents if isinstance(one, HeadPaths)]
    assert list(plane.paths) == ["write", "read"]
    assert "external memory: the heads in the plane" in scene.svg()
    lines = printed(copied(write_path=np.zeros((1, 4, 2)), read_path=np.ones((1, 4, 2))))
    assert any(line.endswith("x 0.00 to 1.00, y 0.00 to 1.00; w write, r read, * several") for line in lines)


def test_words_say_what_the_picture_shows():
    assert "write from slot 2 to slot 1" in figure(copied()).description
    assert "read from slot 1 to slot 3" in figure(copied()).description
