"""The documentation page of the labs: `python -m regard.course.lab.reference docs` runs each lab and writes
docs/lab.md with the figures in docs/figures/lab."""

from __future__ import annotations

import sys
from pathlib import Path

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.saving import save
from regard.parts import names, part
from regard.spec.reference import options_table
from regard.storage.files import write_text

HEAD = """# The laboratory

Small experiments about recurrent networks and dynamic programs: each computes what a lecture claims, prints its
numbers, draws a figure, and says in one sentence what to see. This page is generated:
`python -m regard.course.lab.reference docs`.

    regard lab                                        # list them
    regard lab jacobian                               # figure and numbers in the terminal
    regard lab jacobian -o jacobian.svg --set steps=100
    regard lab inside-outside -o tables.html --set 'sentence=time flies like an arrow'
    regard lab gates --json gates.json

Figures are `.svg`, `.png` or `.pdf`; `.html` is a page that works offline, with a slider if its tables fill step by
step. In Python, `regard.course.lab.run("jacobian", steps=100)` returns the figure and the numbers. A lab of your own
is one file: [Extending](extending.md#a-lab)."""


def page(results: dict[str, LabResult] | None = None) -> str:
    """Heading, summary, command and settings of each lab; with `results`, also its sentence, figure and key
    numbers."""
    lines = [HEAD]
    for name in names("lab"):
        found: type[Lab] = part("lab", name)
        lines += [
            "",
            f"## {name}",
            "",
            f"{found.summary[0].upper()}{found.summary[1:]}.",
            "",
            f"    regard lab {name}",
        ]
        if results:
            lines += ["", *_result(name, results[name])]
        lines += ["", *options_table(found.Options)]
    return "\n".join(lines) + "\n"


def _result(name: str, found: LabResult) -> list[str]:
    head, rows = found.table
    cells = [[written(cell).strip().replace("|", "∣") for cell in row] for row in rows]
    titles = [title.replace("|", "∣") for title in head]
    return [
        found.see,
        "",
        f"![{found.see}](figures/lab/{name}.svg)",
        "",
        f"| {' | '.join(titles)} |",
        f"|{'---|' * len(titles)}",
        *(f"| {' | '.join(row)} |" for row in cells),
    ]


def write(folder: Path) -> None:
    """Run every lab with its defaults, and write the figures and the page to a documentation folder."""
    figures = folder / "figures" / "lab"
    figures.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in names("lab"):
        results[name] = part("lab", name).run(part("lab", name).Options())
        save(results[name].figure, figures / f"{name}.svg")
    write_text(folder / "lab.md", page(results))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
