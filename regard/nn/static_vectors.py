"""Static vectors of model2vec: a folder with tokenizer.json and model.safetensors.

The vector of a word is the mean of the vectors of its pieces, so that every word of known pieces has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra, RegardError
from regard.nn.vector_file import FoundVectors
from regard.storage.tensors import read_header, read_tensors

TOKENIZER, TENSORS = "tokenizer.json", "model.safetensors"
TABLES = ("embeddings", "embedding.weight")
BEGINNINGS = "▁Ġ"
"""Signs of the beginning of a word in pieces."""
WEIGHTS = "weights"
"""A factor for each piece, which some folders store apart from the vectors."""


def is_static(folder: Path) -> bool:
    """Whether this is a folder of static vectors."""
    return (folder / TOKENIZER).is_file() and (folder / TENSORS).is_file()


def static_size(folder: Path) -> int:
    """The size of the vectors."""
    shapes = read_header(folder / TENSORS, "the vectors").shapes
    return int(shapes[_table(folder, shapes)][1])


def read_static(folder: Path, wanted: Iterable[str], size: int) -> FoundVectors:
    """The vectors of some words."""
    tokenizer = _tokenizer(folder)  # first, because an absent library is named before anything is read
    tensors, _ = read_tensors(folder / TENSORS, "the vectors")
    table = tensors[_table(folder, tensors)].float()
    if table.shape[1] != size:
        raise RegardError(
            f"the vectors have {table.shape[1]} numbers, expected {size}.",
            where=str(folder / TENSORS),
            fix=f"Set  size: {table.shape[1]}, or leave size out.",
        )
    if WEIGHTS in tensors:
        table = table * tensors[WEIGHTS].float().reshape(-1, 1)
    unknown = tokenizer.token_to_id("[UNK]"), tokenizer.token_to_id("<unk>")
    words = list(dict.fromkeys(wanted))
    found = FoundVectors(bytes=0, digest="", words=len(table))
    for word, coded in zip(words, tokenizer.encode_batch(words, add_special_tokens=False), strict=True):
        ids = [number for number in coded.ids if number not in unknown and number < len(table)]
        if ids and len(ids) == len(coded.ids):
            found.vectors[word] = table[ids].mean(0)
    digest = hashlib.blake2b(digest_size=16)
    for name in (TOKENIZER, TENSORS):
        content = (folder / name).read_bytes()
        digest.update(content)
        found.bytes += len(content)
    found.digest = digest.hexdigest()
    return found


def whole_words(folder: Path, count: int) -> list[str]:
    """The first words that are one piece; the pieces of a tokenizer begin with the most frequent ones."""
    tokenizer = _tokenizer(folder)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda one: one[1])
    words = [piece.lstrip(BEGINNINGS) for piece, _ in pieces]
    coded = tokenizer.encode_batch(words, add_special_tokens=False)
    found = (
        word
        for word, (_, number), one in zip(words, pieces, coded, strict=True)
        if one.ids == [number] and word.isalpha()
    )
    return list(islice(dict.fromkeys(found), count))


def _tokenizer(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("tokenizers", "text", f"Reading {folder / TOKENIZER}") from None
    try:
        return Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises a bare Exception
        raise RegardError(
            f"the tokenizer cannot be read ({error}).",
            where=str(folder / TOKENIZER),
            fix="Download the folder again.",
        ) from None


def _table(folder: Path, tensors: Any) -> str:
    for name in TABLES:
        if name in tensors:
            return name
    raise RegardError(
        f"no table of vectors: expected {' or '.join(TABLES)}, received {', '.join(sorted(tensors)[:4])}.",
        where=str(folder / TENSORS),
        fix="Name a folder of model2vec, or a text file of vectors.",
    )
