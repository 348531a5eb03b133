"""The files that `examples/write_digits.py` writes, read back byte by byte and by the reader of MNIST's format."""

from __future__ import annotations

import gzip
import runpy
from pathlib import Path

import numpy as np

from regard.data.readers.idx import IdxReader

EXAMPLE = Path(__file__).parents[2] / "examples" / "write_digits.py"


def test_every_fifth_image_is_a_test_image(tmp_path: Path) -> None:
    images = np.arange(10 * 2 * 3).reshape(10, 2, 3) % 17
    labels = np.arange(10) % 4
    runpy.run_path(str(EXAMPLE))["write_digits"](tmp_path, images, labels)
    raw = gzip.decompress((tmp_path / "t10k-images-idx3-ubyte.gz").read_bytes())
    assert raw[:16] == bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3])
    assert list(raw[16:22]) == [round(value * 255 / 16) for value in images[4].ravel()]
    pair = [tmp_path / "train-images-idx3-ubyte.gz", tmp_path / "train-labels-idx1-ubyte.gz"]
    rows = list(IdxReader().read(pair, ["image", "label"]))
    assert len(rows) == 8
    assert [row["label"] for row in rows] == [str(label) for label in np.delete(labels, [4, 9])]
