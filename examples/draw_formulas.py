"""More pictures for recipes/im2latex.yaml: formulas without pictures are drawn by matplotlib's mathtext.

    python examples/draw_formulas.py SAMPLE val.formulas.norm.txt.xz test.formulas.norm.txt.xz -o OUT
    regard train recipes/im2latex.yaml --set data.train=OUT/train.lst --set data.dev=OUT/validate.lst \\
      --set data.test=OUT/test.lst --set data.images=OUT/images_cropped.zip

SAMPLE holds train.lst, validate.lst, test.lst, formulas.lst and images_cropped.zip. OUT holds the same, and the drawn
pictures among the training ones. What is measured on stays as it is: no formula of validate.lst or test.lst is drawn.
mathtext knows most of LaTeX's mathematics, not all (no arrays), and sets it somewhat otherwise: whatever it cannot read
is left out and counted. It takes some 50 ms a formula.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from regard.data.readers.latex import latex_tokens
from regard.data.readers.lines import read_lines

SIZE = 16
"""Of the letters in pixels, as in the sample."""
MARGIN = 3
WIDEST, HIGHEST = 640, 96


@cache
def _parser() -> tuple[Any, Any]:
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    return MathTextParser("agg"), FontProperties(size=SIZE, math_fontfamily="cm")


def for_mathtext(tokens: str) -> str:
    """The tokens as mathtext wants them: scripts without spaces, fractions on the line as large as in a display."""
    depth, written = 0, []
    for token in tokens.split():
        depth += (token == "{") - (token == "}")
        written.append("\\dfrac" if token == "\\frac" and depth == 0 else token)
    return re.sub(r" ?([_^{}]) ?", r"\1", " ".join(written))


def drawn(tokens: str) -> bytes | None:
    """A PNG in gray, or None where mathtext cannot read the formula or it is too large."""
    parser, properties = _parser()
    try:
        ink = np.asarray(parser.parse(f"${for_mathtext(tokens)}$", 72, properties).image)
    except (ValueError, RuntimeError):
        return None
    if not ink.any() or ink.shape[1] > WIDEST or ink.shape[0] > HIGHEST:
        return None
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    ink = np.pad(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], MARGIN)
    file = io.BytesIO()
    Image.fromarray((255 - ink).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def new_formulas(files: Sequence[Path], measured: set[str]) -> Iterator[str]:
    """Each formula of the files once, as tokens, unless it is among those measured on."""
    seen = set(measured)
    for file in files:
        for line in read_lines(file):
            tokens = latex_tokens(line.text)
            if tokens and tokens not in seen:
                seen.add(tokens)
                yield tokens


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("sample", type=Path)
    arguments.add_argument("formulas", type=Path, nargs="+")
    arguments.add_argument("-o", "--out", type=Path, required=True)
    arguments.add_argument("--workers", type=int, default=os.cpu_count())
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    written = [line.text for line in read_lines(given.sample / "formulas.lst")]
    measured = set()
    for name in ("validate.lst", "test.lst"):
        shutil.copyfile(given.sample / name, given.out / name)
        lines = (given.sample / name).read_text(encoding="utf-8").splitlines()
        measured |= {latex_tokens(written[int(line.split()[0])]) for line in lines}
    wanted = list(new_formulas(given.formulas, measured))
    listed = (given.sample / "train.lst").read_text(encoding="utf-8").splitlines()
    archive = given.out / "images_cropped.zip"
    shutil.copyfile(given.sample / "images_cropped.zip", archive)
    archive.chmod(0o644)
    count = 0
    with zipfile.ZipFile(archive, "a") as pictures, Pool(given.workers) as pool:
        for tokens, picture in zip(wanted, pool.imap(drawn, wanted, chunksize=32), strict=True):
            if picture is not None:
                listed.append(f"{len(written)} drawn-{count:05d} mathtext")
                written.append(tokens)
                pictures.writestr(f"drawn-{count:05d}.png", picture)
                count += 1
    (given.out / "train.lst").write_text("\n".join(listed) + "\n", encoding="utf-8")
    (given.out / "formulas.lst").write_text("\n".join(written) + "\n", encoding="utf-8")
    print(f"{count:,} of {len(wanted):,} formulas drawn; {len(listed):,} pictures to train on in {given.out}")


if __name__ == "__main__":
    main()
