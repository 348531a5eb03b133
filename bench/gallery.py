"""Every kind of figure with its command, made from trained runs: docs/gallery.md.

    regard train g2p; regard train translation; …
    python bench/gallery.py                              # runs/* → docs/figures/gallery/*.svg and docs/gallery.md
    python bench/gallery.py --runs experiments --only arcs tape

Each figure is what its command writes. A figure whose run is absent stays as it is in git. Exit status 1 if a command
fails or a figure is larger than its bar.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from written import parse, write_json

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "figures" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
MOST = 180_000
"""Bytes of a figure."""


HEAD = """# Gallery

Every kind of figure, and the command that wrote it (`python bench/gallery.py` runs them all). `-o` takes .svg, .png,
.pdf and .html; without it the figure is drawn in the terminal. `regard studio` shows most of them as live figures. In
Python: `prediction.trace.save("x.svg")`. The runs are systems of the zoo: `regard train g2p` makes `runs/g2p`. A
drawing of your own: [Extending](extending.md#a-drawing)."""


@dataclass(frozen=True)
class Shown:
    """A figure: what its command draws, in words. `name` is its file, and `-o name.svg` ends its command."""

    name: str
    title: str
    command: str
    about: str

    @property
    def runs(self) -> list[str]:
        return re.findall(r"runs/([\w-]+)", self.command)

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.svg"

    @property
    def typed(self) -> str:
        return f"regard {self.command} {'--plot' if self.command.startswith('evaluate') else '-o'} {self.name}.svg"


SECTIONS: dict[str, list[Shown]] = {
    "Where it looked": [
        Shown(
            "heatmap",
            "Words over words",
            "show runs/g2p knowledge",
            "A row for each output piece: how much it looked at each input piece, and how probable it was.",
        ),
        Shown(
            "override",
            "Attention overridden",
            "show runs/g2p knight --look 0-0",
            "The answer without the edit and with it. The edited row is outlined.",
        ),
        Shown(
            "why",
            "The least change",
            "show runs/g2p knight --why K",
            "The smallest change of attention that makes another word the most probable one.",
        ),
        Shown(
            "dependence",
            "What each piece depends on",
            "show runs/g2p knowledge --faithful",
            "The same map. × marks a position that can be removed without an effect on the answer.",
        ),
        Shown(
            "heads",
            "Heads",
            "show runs/translation-transformer --row 1 --heads --layer 1",
            "The attention of every head of a layer.",
        ),
        Shown(
            "compare",
            "Models side by side",
            "compare runs/translation-softmax-word runs/translation-segments-word --row 1",
            "The attention of two models for the same input, below the true alignment.",
        ),
    ],
    "Structures": [
        Shown(
            "segments",
            "Segments",
            "show runs/translation-segments-word --row 1",
            "Attention in segments: the most probable ones are underlined, the true ones outlined.",
        ),
        Shown(
            "arcs",
            "Trees of dependencies",
            "show runs/parser-crf --row 17",
            "The more probable an arc, the wider. Wrong arcs are crossed out; the true ones are dashed, below.",
        ),
        Shown(
            "constituents",
            "Trees of constituents",
            "show runs/parser-constituents --row 3",
            "The best tree in its chart.",
        ),
        Shown(
            "nodes",
            "Values along a tree",
            "show runs/tree-lstm --row 3",
            "The result at each node of a given tree.",
        ),
        Shown(
            "hops",
            "Facts, hop by hop",
            "show runs/facts --row 0",
            "How much each hop looked at each sentence. The chosen ones are ringed, the true ones outlined.",
        ),
        Shown(
            "tape",
            "An external memory",
            "show runs/ntm-copy --row 0",
            "Where the heads wrote and read, step by step.",
        ),
    ],
    "Inputs other than text": [
        Shown(
            "image",
            "Images",
            "show runs/caption --row 3",
            "The image once for each word, clear where the word looked.",
        ),
        Shown(
            "glimpses",
            "Questions about images",
            "show runs/image-qa-attention --row 5 --of answer",
            "Several glimpses for one answer.",
        ),
        Shown(
            "video",
            "Video",
            "show runs/video-caption-both --row 3",
            "Frames, and under them a row for each word.",
        ),
        Shown(
            "audio",
            "Audio",
            "show runs/speech --row 5",
            "The spectrogram, and the span of time of each letter.",
        ),
        Shown(
            "points",
            "Points",
            "show runs/pointer-hull --row 3",
            "The output points at the input: a convex hull.",
        ),
        Shown(
            "table",
            "Tables",
            "show runs/table-text --row 3",
            "The fields of a record that each word looked at.",
        ),
        Shown("graph", "Graphs", "show runs/graph-path --row 3", "The nodes of a graph that were looked at."),
    ],
    "Long and many texts": [
        Shown(
            "document",
            "Documents",
            "show runs/document-class --row 3",
            "Sentences by their weight, and the words inside them.",
        ),
        Shown(
            "conversation",
            "Dialogs",
            "show runs/dialog-context --row 3",
            "Which earlier turn the answer used.",
        ),
        Shown("pair", "Two texts", "show runs/nli-self --row 0", "A premise and a hypothesis."),
        Shown("copies", "Copying", "show runs/summary --row 3", "Which words were copied, and from where."),
        Shown(
            "surprisal",
            "Language models",
            "show runs/lm-char 'The while statement is used for repeated execution.'",
            "How surprising each piece is.",
        ),
    ],
    "Inside": [
        Shown(
            "states",
            "Gates and states",
            "show runs/g2p knight --panel 'states: decoder'",
            "What the cells of the decoder held at each step.",
        ),
        Shown(
            "beam",
            "The search as a tree",
            "show runs/g2p knight --beam 3 --panel beam",
            "Every hypothesis, and where it ended.",
        ),
        Shown(
            "probabilities",
            "Probabilities",
            "show runs/g2p knight --panel probabilities",
            "What else each piece could have been.",
        ),
        Shown(
            "network",
            "The network",
            "describe reverse",
            "Rolled, unrolled and inside its cells, from the equations.",
        ),
    ],
    "Numbers": [
        Shown(
            "lengths",
            "Scores by length",
            "evaluate runs/g2p --by-length --limit 400",
            "With intervals, several runs over each other.",
        ),
        Shown(
            "faithful",
            "Is the attention faithful?",
            "faithful runs/g2p --rows 20",
            "Each measure beside random, with intervals.",
        ),
    ],
    "Laboratory": [
        Shown(
            "jacobian",
            "Exploding and vanishing",
            "lab jacobian",
            "One of the labs: gradients through time.",
        ),
        Shown(
            "forward-backward",
            "A dynamic program",
            "lab forward-backward",
            "The tables of a chain, filled step by step.",
        ),
    ],
}


def make(one: Shown, runs: Path) -> str:
    """Run the command, in this process; returns what it said if it failed."""
    from regard.cli import main as regard

    typed = shlex.split(one.typed.replace("runs/", f"{runs.resolve()}/"))
    typed[typed.index(f"{one.name}.svg")] = str(one.path)
    said = io.StringIO()
    before, sys.argv = sys.argv, [*typed, "--overwrite"]
    try:
        with redirect_stdout(said), redirect_stderr(said):
            regard()
    except SystemExit as end:
        return said.getvalue()[-600:] if end.code else ""
    finally:
        sys.argv = before
    return ""


def page() -> str:
    """The page, with the figures that are there."""
    lines = [HEAD]
    for section, figures in SECTIONS.items():
        there = [one for one in figures if one.path.is_file()]
        if not there:
            continue
        lines += ["", f"## {section}"]
        for one in there:
            lines += ["", f"### {one.title}", "", f"{one.about}", "", "```bash", one.typed, "```", ""]
            lines += [f"![{described(one)}](figures/gallery/{one.name}.svg)"]
    return "\n".join(lines) + "\n"


def described(one: Shown) -> str:
    """The figure in words, from its description."""
    found = re.search(r"<desc>(.*?)</desc>", one.path.read_text(encoding="utf-8"), re.S)
    words = " ".join(found[1].split()) if found else one.about
    return re.sub(r"[\[\]]", "", words)[:240]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder with the trained runs")
    parser.add_argument("--only", nargs="+", default=[], help="names of figures; none: only the page")
    options = parse(parser)
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed, sizes = [], {}
    for one in (one for figures in SECTIONS.values() for one in figures):
        if options.only and one.name not in options.only:
            continue
        missing = [run for run in one.runs if not (options.runs / run / "model.safetensors").is_file()]
        if missing:
            print(f"{one.name:18} left: no {', '.join(missing)} in {options.runs}")
            continue
        if said := make(one, options.runs):
            failed.append(one.name)
            print(f"{one.name:18} failed: {said}")
            continue
        sizes[one.name] = one.path.stat().st_size
        print(f"{one.name:18}{sizes[one.name]:>9,} bytes  {one.typed}", flush=True)
    PAGE.write_text(page(), encoding="utf-8")
    large = [name for name, size in sizes.items() if size > MOST]
    if large:
        print(f"too large: {', '.join(large)}")
    write_json(options.json, {"bytes": sizes, "failed": failed})
    sys.exit(1 if failed or large else 0)


if __name__ == "__main__":
    main()
