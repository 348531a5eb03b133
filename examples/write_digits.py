"""Write the handwritten digits of scikit-learn as the four files of MNIST, for recipes/digits.yaml.

    pip install scikit-learn
    python examples/write_digits.py digits/
    cd digits && regard train ../recipes/digits.yaml

1,797 images of 8 × 8 pixels (Alpaydin, Kaynak 1998), of which every fifth is a test image. They stand in for MNIST:
the same recipe reads its 70,000 images of 28 × 28 pixels if its four files are there.
"""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np


def write_idx(path: Path, values: Any) -> None:
    """Unsigned bytes in any number of dimensions as an IDX file, compressed."""
    array = np.asarray(values, dtype=np.uint8)
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes(), mtime=0))


def write_digits(folder: Path, images: Any, labels: Any) -> None:
    """Images (N, H, W) from 0 to 16 and their classes; every fifth is a test image."""
    pixels = np.rint(np.asarray(images) * (255 / 16))
    test = np.arange(len(pixels)) % 5 == 4
    for name, rows in (("train", ~test), ("t10k", test)):
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", pixels[rows])
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", np.asarray(labels)[rows])


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("name the folder to write to: python examples/write_digits.py digits/")
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("the digits come with the package scikit-learn: pip install scikit-learn")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    found = load_digits()
    write_digits(folder, found.images, found.target)
    print(f"{len(found.images):,} images in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
