"""Pretrained word vectors of a text column: a table with one row for each unit, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError


@dataclass(frozen=True)
class VectorsOrigin:
    """Where the vectors of an embedding come from, for the record of a run.

    file       its name, as the spec writes it
    bytes      its size
    digest     a hash of its content
    words      number of words in it
    units      number of units that may have a vector
    known      ids of the units that have one in the file
    built      number of units whose vectors were built from characters
    """

    file: str
    bytes: int
    digest: str
    words: int
    units: int
    known: frozenset[int]
    built: int = 0

    def share(self, counts: Mapping[int, int]) -> float:
        """The share of tokens that have a vector in the file, of those in some rows; counts as in `record`."""
        covered = sum(count for unit, count in counts.items() if unit in self.known)
        return round(covered / max(sum(counts.values()), 1), 4)

    def record(self, counts: Mapping[int, int]) -> dict[str, Any]:
        """The record of a run. counts: how often each id occurs in the training rows."""
        kept = {key: value for key, value in asdict(self).items() if key != "known"}
        shares = {
            "covered": len(self.known),
            "types": round(len(self.known) / max(self.units, 1), 4),
            "tokens": self.share(counts),
        }
        return {**kept, **shares}


def read_vectors(options: Any, column: Any) -> tuple[Tensor, VectorsOrigin]:
    """(V, size) and their origin: the file's vectors for the units that it knows. options: `VectorsOptions`.

    A unit that the file lacks is looked up without the marks of punctuation, and then in lower case. The other vectors
    are random, with the mean square of the file's.
    """
    from regard.data.columns.marks import JOINER
    from regard.nn.character_grams import from_characters
    from regard.nn.static_vectors import is_static, read_static
    from regard.nn.vector_file import read_words

    first = 4  # the special ids
    size = int(options.size or 0)
    vectors: Tensor = torch.randn(column.size, size)
    units = {number: column.vocabulary.piece(number) for number in range(first, column.size)}
    wanted: dict[str, list[tuple[int, int]]] = {}
    for number, unit in units.items():
        bare = unit.strip(JOINER) or unit
        for rank, form in enumerate(dict.fromkeys((unit, bare, bare.lower()))):
            wanted.setdefault(form, []).append((rank, number))
    folder = Path(options.vectors).expanduser()
    found = (
        read_static(folder, wanted, size)
        if is_static(folder)
        else read_words(options.vectors, wanted, size, grams=options.unknown == "characters")
    )
    chosen: dict[int, tuple[int, Tensor]] = {}
    for word, vector in found.vectors.items():
        for rank, number in wanted[word]:
            if number not in chosen or rank < chosen[number][0]:
                chosen[number] = rank, vector
    if not chosen:
        raise RegardError(
            f"none of the {len(units):,} units of {column.name} has a vector here.",
            where=options.vectors,
            fix="Check that the file is for this language, and that case and unit agree.",
        )
    known = torch.stack([vector for _, vector in chosen.values()])
    vectors *= known.double().square().mean().sqrt().float()
    vectors[torch.tensor(list(chosen))] = known
    built: dict[int, Tensor] = {}
    if options.unknown == "characters":
        absent = {number: unit.strip(JOINER) for number, unit in units.items() if number not in chosen}
        built = from_characters(absent, found.grams or found.vectors)
        for number, vector in built.items():
            vectors[number] = vector
    origin = VectorsOrigin(
        options.vectors, found.bytes, found.digest, found.words, len(units), frozenset(chosen), len(built)
    )
    return vectors, origin
