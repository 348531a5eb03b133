"""BLAKE2b of the cells of a row, with 8 bytes (RFC 7693), as `hashlib` computes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.structures.kernels.cpu.compilation import inlined, kernel

BLOCK = 128
STATE = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    np.uint64,
)
FIRST = np.uint64(0x6A09E667F3BCC908 ^ 0x01010008)
"""The first number of the state for a digest of 8 bytes without a key."""
ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.int64,
)


@inlined
def turned(number: Any, count: Any) -> Any:
    return (number >> np.uint64(count)) | (number << np.uint64(64 - count))


@inlined
def stir(v: Any, a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> None:
    v[a] = v[a] + v[b] + x
    v[d] = turned(v[d] ^ v[a], 32)
    v[c] += v[d]
    v[b] = turned(v[b] ^ v[c], 24)
    v[a] = v[a] + v[b] + y
    v[d] = turned(v[d] ^ v[a], 16)
    v[c] += v[d]
    v[b] = turned(v[b] ^ v[c], 63)


@inlined
def compress(state: Any, words: Any, v: Any, size: Any, last: Any) -> None:
    for place in range(8):
        v[place], v[8 + place] = state[place], STATE[place]
    v[12] ^= np.uint64(size)
    if last:
        v[14] = ~v[14]
    for turn in range(12):
        m = ORDER[turn]
        stir(v, 0, 4, 8, 12, words[m[0]], words[m[1]])
        stir(v, 1, 5, 9, 13, words[m[2]], words[m[3]])
        stir(v, 2, 6, 10, 14, words[m[4]], words[m[5]])
        stir(v, 3, 7, 11, 15, words[m[6]], words[m[7]])
        stir(v, 0, 5, 10, 15, words[m[8]], words[m[9]])
        stir(v, 1, 6, 11, 12, words[m[10]], words[m[11]])
        stir(v, 2, 7, 8, 13, words[m[12]], words[m[13]])
        stir(v, 3, 4, 9, 14, words[m[14]], words[m[15]])
    for place in range(8):
        state[place] ^= v[place] ^ v[8 + place]


@kernel
def digests(text: Any, starts: Any, ends: Any, found: Any) -> None:
    """The digest of the cells of each row, which zero characters separate.

    starts, ends   (rows, cells); found (rows,) uint64, the first byte as the most significant one
    """
    state, words, v = np.empty(8, np.uint64), np.zeros(16, np.uint64), np.empty(16, np.uint64)
    rows, cells = starts.shape
    for row in range(rows):
        total = cells - 1
        for cell in range(cells):
            total += ends[row, cell] - starts[row, cell]
        for place in range(1, 8):
            state[place] = STATE[place]
        state[0] = FIRST
        words[:] = 0
        filled, done, cell, at = 0, 0, 0, starts[row, 0]
        while True:
            while cell < cells and filled < BLOCK:
                if at < ends[row, cell]:
                    words[filled >> 3] |= np.uint64(text[at]) << np.uint64(8 * (filled & 7))
                    at += 1
                    filled += 1
                else:
                    cell += 1
                    if cell < cells:
                        at = starts[row, cell]
                        filled += 1
            done += filled
            compress(state, words, v, done, done == total)
            if done == total:
                break
            words[:] = 0
            filled = 0
        number = np.uint64(0)
        for step in range(8):
            number = (number << np.uint64(8)) | ((state[0] >> np.uint64(8 * step)) & np.uint64(255))
        found[row] = number
