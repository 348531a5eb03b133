"""More images for recipes/im2latex.yaml: formulas without images are drawn by matplotlib's mathtext.

    python examples/draw_formulas.py SAMPLE val.formulas.norm.txt.xz test.formulas.norm.txt.xz -o OUT
    regard train recipes/im2latex.yaml --set data.train=OUT/train.lst --set data.dev=OUT/validate.lst \\
      --set data.test=OUT/test.lst --set data.images=OUT/images_cropped.zip

SAMPLE holds train.lst, validate.lst, test.lst, formulas.lst and images_cropped.zip. OUT holds the same files,
with the drawn images added to the training ones. The evaluation data stay as they are: no formula of
validate.lst or test.lst is drawn. mathtext supports most of LaTeX's mathematics but not all (no arrays), and
its layout differs somewhat. Formulas that it cannot read are left out and counted. Drawing takes some 50 ms
per formula.

    python examples/draw_formulas.py SAMPLE val.formulas.norm.txt.xz -o OUT --places --count 12000
    regard train recipes/im2latex-places.yaml --set data.train=OUT/train.tsv --set data.dev=OUT/validate.tsv \\
      --set data.test=OUT/test.tsv --set data.images=OUT/images.zip

`--places` also writes the region of each symbol in the drawn images, which guides the attention. OUT then has
train.tsv, validate.tsv and test.tsv with the columns image, formula and places (empty for the sample's own
images), and images.zip. All images are put at the left of a canvas of 480 by 64 pixels, so that regions are
fractions of the network's input.
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
from itertools import islice
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from regard.data.readers import latex_tokens, read_lines

SIZE = 16
"""Font size in pixels, as in the sample."""
MARGIN = 3
WIDEST, HIGHEST = 640, 96
CANVAS = (480, 64)


class Drawn(NamedTuple):
    """A grayscale image and the boxes of its tokens: (token, left, top, right, bottom) in pixels."""

    image: Image.Image
    places: list[tuple[int, float, float, float, float]]


@cache
def _parser() -> tuple[Any, Any, Any]:
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    return MathTextParser("agg"), MathTextParser("path"), FontProperties(size=SIZE, math_fontfamily="cm")


def for_mathtext(tokens: str) -> str:
    """The tokens in mathtext's syntax: no spaces around scripts, top-level fractions in display size."""
    depth, written = 0, []
    for token in tokens.split():
        depth += (token == "{") - (token == "}")
        written.append("\\dfrac" if token == "\\frac" and depth == 0 else token)
    return re.sub(r" ?([_^{}]) ?", r"\1", " ".join(written))


def drawn(tokens: str) -> Drawn | None:
    """Draw a formula; None if mathtext cannot read it or the image is too large."""
    found = _parsed(for_mathtext(tokens))
    if found is None:
        return None
    raster, vector = found
    ink = np.asarray(raster.image)
    if not ink.any() or ink.shape[1] > WIDEST or ink.shape[0] > HIGHEST:
        return None
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    base = raster.height - raster.depth - rows[0] + MARGIN
    places = [
        (token, *_box(glyph, base, MARGIN + 1 - columns[0])) for token, glyph in _glyphs_of(tokens, vector)
    ]
    ink = np.pad(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], MARGIN)
    return Drawn(Image.fromarray((255 - ink).astype(np.uint8)), places)


def _parsed(formula: str) -> tuple[Any, Any] | None:
    """The image of a formula and its glyphs: (font, size, number, …, x, y), y upwards from the baseline."""
    raster, vector, properties = _parser()
    try:
        return tuple(parser.parse(f"${formula}$", 72, properties) for parser in (raster, vector))
    except (ValueError, RuntimeError):
        return None


@cache
def _sign(token: str) -> tuple[str, int] | None:
    """Font and number of a token's glyph; None unless the token by itself has exactly one."""
    if token in "{}_^&~'":
        return None
    found = _parsed(token)
    if found is None or len(found[1].glyphs) != 1:
        return None
    font, _, number, *_ = found[1].glyphs[0]
    return font.postscript_name, number


def _glyphs_of(tokens: str, vector: Any) -> list[tuple[int, Any]]:
    """(token, glyph) pairs: equal symbols are matched in order, if there are as many tokens as glyphs.

    mathtext sets ^ before _, so two equal symbols may be swapped where one is above the other."""
    written: dict[Any, list[int]] = {}
    for number, token in enumerate(tokens.split()):
        sign = _sign(token)
        if sign is not None:
            written.setdefault(sign, []).append(number)
    shown: dict[Any, list[Any]] = {}
    for glyph in vector.glyphs:
        shown.setdefault((glyph[0].postscript_name, glyph[2]), []).append(glyph)
    pairs = [
        pair
        for sign, numbers in written.items()
        if len(numbers) == len(shown.get(sign, ()))
        for pair in zip(numbers, shown[sign], strict=True)
    ]
    return sorted(pairs, key=lambda pair: pair[0])


def _box(glyph: Any, base: float, left: float) -> tuple[float, float, float, float]:
    """Approximate box of a glyph, without the metrics of its font."""
    size, x, y = float(glyph[1]), float(glyph[-2]) + left, base - float(glyph[-1])
    if glyph[0].postscript_name.lower().startswith("cmex"):  # large symbols hang below their baseline
        return x, y, x + 0.8 * size, y + 1.4 * size
    return x, y - 0.75 * size, x + 0.6 * size, y + 0.2 * size


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def on_canvas(image: Image.Image) -> tuple[Image.Image, float, float]:
    """The image at the left of the canvas, shrunk only if it does not fit; its scale; its vertical offset."""
    scale = min(1.0, CANVAS[0] / image.width, CANVAS[1] / image.height)
    if scale < 1:
        size = (max(1, int(image.width * scale)), max(1, int(image.height * scale)))
        image = image.resize(size, Image.Resampling.BOX)
    canvas, down = Image.new("L", CANVAS, 255), (CANVAS[1] - image.height) // 2
    canvas.paste(image, (0, down))
    return canvas.quantize(16).convert("L"), scale, down


def placed(tokens: str) -> tuple[bytes, str] | None:
    """A drawn formula on the canvas, and its regions in the format of a `places` column."""
    found = drawn(tokens)
    if found is None:
        return None
    canvas, scale, down = on_canvas(found.image)
    written = []
    for token, *box in found.places:
        left, right = (min(1.0, max(0.0, scale * one / CANVAS[0])) for one in (box[0], box[2]))
        top, bottom = (min(1.0, max(0.0, (scale * one + down) / CANVAS[1])) for one in (box[1], box[3]))
        if left < right and top < bottom:
            written.append(f"{token}:{left:.4f},{top:.4f},{right:.4f},{bottom:.4f}")
    return png(canvas), " ".join(written)


def cropped(tokens: str) -> bytes | None:
    found = drawn(tokens)
    return None if found is None else png(found.image)


def new_formulas(files: Sequence[Path], measured: set[str]) -> Iterator[str]:
    """Each formula of the files once, as tokens, except those in `measured`."""
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
    arguments.add_argument("--places", action="store_true", help="on canvases, with where each sign stands")
    arguments.add_argument("--count", type=int, help="take so many of the formulas; default: all")
    arguments.add_argument(
        "--longest", type=int, default=500, help="in tokens; longer formulas are not drawn"
    )
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    written = [line.text for line in read_lines(given.sample / "formulas.lst")]
    measured = set()
    for name in ("validate.lst", "test.lst"):
        lines = (given.sample / name).read_text(encoding="utf-8").splitlines()
        measured |= {latex_tokens(written[int(line.split()[0])]) for line in lines}
    fitting = (one for one in new_formulas(given.formulas, measured) if len(one.split()) <= given.longest)
    wanted = list(islice(fitting, given.count))
    count = (with_places if given.places else with_lists)(
        given.sample, given.out, written, wanted, given.workers
    )
    print(f"{count:,} of {len(wanted):,} formulas drawn, in {given.out}")


def with_lists(sample: Path, out: Path, written: list[str], wanted: Sequence[str], workers: int) -> int:
    """Write the sample unchanged, with drawn images added to the training set; return how many."""
    for name in ("validate.lst", "test.lst"):
        shutil.copyfile(sample / name, out / name)
    listed = (sample / "train.lst").read_text(encoding="utf-8").splitlines()
    archive = out / "images_cropped.zip"
    shutil.copyfile(sample / "images_cropped.zip", archive)
    archive.chmod(0o644)
    count = 0
    with zipfile.ZipFile(archive, "a") as pictures, Pool(workers) as pool:
        for tokens, picture in zip(wanted, pool.imap(cropped, wanted, chunksize=32), strict=True):
            if picture is not None:
                listed.append(f"{len(written)} drawn-{count:05d} mathtext")
                written.append(tokens)
                pictures.writestr(f"drawn-{count:05d}.png", picture)
                count += 1
    (out / "train.lst").write_text("\n".join(listed) + "\n", encoding="utf-8")
    (out / "formulas.lst").write_text("\n".join(written) + "\n", encoding="utf-8")
    return count


def with_places(sample: Path, out: Path, written: list[str], wanted: Sequence[str], workers: int) -> int:
    """Write all images on canvases, the drawn ones with their regions; return how many were drawn."""
    count = 0
    with (
        zipfile.ZipFile(sample / "images_cropped.zip") as real,
        zipfile.ZipFile(out / "images.zip", "w") as pictures,
        Pool(workers) as pool,
    ):
        there = set(real.namelist())
        for name in ("train", "validate", "test"):
            rows = ["image\tformula\tplaces"]
            for line in (sample / f"{name}.lst").read_text(encoding="utf-8").splitlines():
                number, file = int(line.split()[0]), line.split()[1] + ".png"
                tokens = latex_tokens(written[number])
                if tokens and file in there:
                    with Image.open(io.BytesIO(real.read(file))) as image:
                        pictures.writestr(file, png(on_canvas(_on_white(image))[0]))
                    rows.append(f"{file}\t{tokens}\t")
            if name == "train":
                for tokens, found in zip(wanted, pool.imap(placed, wanted, chunksize=32), strict=True):
                    if found is not None:
                        pictures.writestr(f"drawn-{count:05d}.png", found[0])
                        rows.append(f"drawn-{count:05d}.png\t{tokens}\t{found[1]}")
                        count += 1
            (out / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return count


def _on_white(image: Image.Image) -> Image.Image:
    """The image in grayscale, on a white background where it is transparent."""
    plain = Image.new("RGBA", image.size, "white")
    plain.alpha_composite(image.convert("RGBA"))
    return plain.convert("L")


if __name__ == "__main__":
    main()
