"""The notebooks as pages of the site: executed, their outputs as Markdown, figures and a live view that can be read.

    python notebooks/pages.py                  # notebooks/*.ipynb → docs/notebooks/*.md
    python notebooks/pages.py first-model      # one of them

In git the notebooks have no outputs, so that a change of one is a change of its text; the pages have them. Needs the
extras `dev` and `notebook`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from html import escape, unescape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"
LIVE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><style>{style}</style></head>
<body><main id="view"></main><script type="module">
const source = {script};
const state = {state};
const module = await import(URL.createObjectURL(new Blob([source], {{type: "text/javascript"}})));
const model = {{get: () => state, on() {{}}, off() {{}}, send() {{}}}};
module.default.render({{model, el: document.getElementById("view")}});
</script></body></html>
"""
"""A view without a kernel: it is read, not edited."""


def names() -> list[str]:
    return sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def executed(name: str, timeout: int = 600) -> Any:
    """The notebook with its outputs, run in an empty folder."""
    import nbclient
    import nbformat

    book = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            book, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    return book


def code_of(name: str) -> list[str]:
    """The cells of code, in their order."""
    book = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


class Page:
    """The Markdown of an executed notebook, and the files of its figures by their names."""

    def __init__(self, name: str, book: Any) -> None:
        self.name = name
        self.files: dict[str, str] = {}
        self.widgets = book.metadata.get("widgets", {}).get(STATES, {}).get("state", {})
        parts = [part for cell in book.cells for part in self._cell(cell)]
        self.text = "\n\n".join(part.strip("\n") for part in parts) + "\n"

    def save(self, folder: Path) -> None:
        figures = folder / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        for old in figures.glob(f"{self.name}-[0-9]*"):
            old.unlink()
        for file, content in self.files.items():
            (figures / file).write_text(content, encoding="utf-8")
        (folder / f"{self.name}.md").write_text(self.text, encoding="utf-8")

    def _cell(self, cell: Any) -> list[str]:
        if cell.cell_type == "markdown":
            return [_links(cell.source)]
        return [f"```python\n{cell.source}\n```", *(self._output(one) for one in cell.outputs)]

    def _output(self, output: Any) -> str:
        if output.output_type == "stream":
            return _block(output.text)
        data = output.data
        if WIDGET in data:
            return self._live(data[WIDGET]["model_id"])
        if "text/html" in data:
            return self._html(data["text/html"])
        return _block(data["text/plain"])

    def _html(self, html: str) -> str:
        """Its drawings as files, the rest as it is."""
        parts = []
        for piece in re.split(r"(<svg.*?</svg>)", html, flags=re.S):
            if piece.startswith("<svg"):
                about = re.search(r"<desc>(.*?)</desc>", piece, re.S)
                alt = unescape(about[1]) if about else "a figure"
                parts.append(f"![{_alt(alt)}](figures/{self._file('svg', piece)})")
            elif re.sub(r"<[^>]*>", "", piece).strip():
                rest = re.sub(r"<div style=\"overflow-x:auto\">\s*$", "", piece)
                line = re.sub(r"\s*\n\s*", " ", _balanced(rest))
                parts.append(f'<div class="output">{line}</div>')
        return "\n\n".join(parts)

    def _live(self, identifier: str) -> str:
        shown = self.widgets[identifier]["state"]
        state = {**shown["state"], "editable": False}
        state["answer"] = {**state["answer"], "panels": []}
        title = f"Where the model looked: {state['answer']['text']}"
        page = LIVE.format(
            title=escape(title), style=shown["_css"], script=_script(shown["_esm"]), state=_script(state)
        )
        name = self._file("html", page)
        return (
            f'<iframe src="figures/{name}" title="{escape(title)}" loading="lazy" '
            f'style="width:100%;height:24rem;border:0"></iframe>'
        )

    def _file(self, kind: str, content: str) -> str:
        name = f"{self.name}-{len(self.files) + 1}.{kind}"
        self.files[name] = content + ("" if content.endswith("\n") else "\n")
        return name


def _script(value: Any) -> str:
    """A value in a script of a page."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")


def _block(text: str) -> str:
    plain = re.sub(chr(27) + r"\[[0-9;]*m", "", text).rstrip()
    return f"```text\n{plain}\n```"


def _alt(text: str) -> str:
    return re.sub(r"([\[\]])", r"\\\1", " ".join(text.split()))[:300]


def _balanced(html: str) -> str:
    """Without the tags of a piece that its other pieces open or close."""
    opened = len(re.findall(r"<div\b", html))
    closed = html.count("</div>")
    for _ in range(max(closed - opened, 0)):
        html = html.replace("</div>", "", 1)
    return html + "</div>" * max(opened - closed, 0)


def _links(text: str) -> str:
    """From the folder of the notebooks to that of the pages."""
    text = re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", text)
    return re.sub(r"\]\(\.\./docs/", "](../", text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="notebooks; default: all")
    for name in parser.parse_args().names or names():
        page = Page(name, executed(name))
        page.save(FOLDER)
        print(f"docs/notebooks/{name}.md: {len(page.files)} figures")


if __name__ == "__main__":
    main()
