"""A trace as one file: its arrays as safetensors, everything else as JSON in the header, with a version and a digest.

The file holds exactly what `Trace.to_dict` gives, so a trace of a plug-in's drawing can be written too. Lists of
numbers become tensors of the smallest type that holds them exactly. What makes a file larger than `LARGEST` is left
out, the least needed first; the trace that is read lists it in `left_out`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.trace.trace import Trace

VERSION = 1
"""The version of the format. A file of a newer one is refused."""
LARGEST = 64 << 20
"""Maximum size of a file in bytes."""
FEWEST = 16
"""Lists of fewer numbers stay in the JSON."""
TENSOR = "$tensor"
FORMAT, CONTENT = "regard-trace", "trace"
SPARED = ("states", "potentials", "heads", "tapes", "gates", "copied", "seen", "glimpses", "structures")
"""Fields that are left out of a file that would be too large, in this order; before them, the attention of a beam."""
INTEGERS = (np.uint8, np.int16, np.int32, np.int64)
PACKED = {"shape", "dtype", "content"}
"""The keys of an array that `regard.trace.seen` packs."""


def save_trace(trace: Trace, path: str | PathLike[str]) -> None:
    """Write a trace; warns if something was left out."""
    from regard.storage.arrays import write_arrays

    kept, arrays, content = _fitting(trace)
    if kept.left_out != trace.left_out:
        warnings.warn(
            f"{path}: at most {LARGEST >> 20} MB are written; left out: {', '.join(kept.left_out)}.",
            stacklevel=3,
        )
    write_arrays(Path(path).expanduser(), arrays, {FORMAT: str(VERSION), CONTENT: content})


def load_trace(path: str | PathLike[str], read: Callable[[Mapping[str, Any]], Trace]) -> Trace:
    """Read a trace; raises an error if it is damaged, too large or of a newer version.

    read   from the plain values of `Trace.to_dict`
    """
    from regard.storage.arrays import read_arrays

    path = Path(path).expanduser()
    if not path.exists():
        raise RegardError(
            "no such file.", where=str(path), fix="Name a file that `trace.save` or `regard show -o` wrote."
        )
    arrays, metadata = read_arrays(path, "the trace", most=2 * LARGEST)
    version = metadata.get(FORMAT, "")
    if not version.isdecimal() or CONTENT not in metadata:
        raise RegardError(
            "this file holds no trace.", where=str(path), fix="Write one with  trace.save(….trace)"
        )
    if int(version) > VERSION:
        raise RegardError(
            f"this trace has version {version} of the format; this regard reads versions up to {VERSION}.",
            where=str(path),
            fix="Install a newer regard.",
        )
    try:
        return read(_filled(json.loads(metadata[CONTENT]), arrays))
    except RegardError as error:
        raise RegardError(f"the trace cannot be read: {error}", where=str(path)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        reason = f"{type(error).__name__} {error}".strip()
        raise RegardError(f"the trace cannot be read: {reason}.", where=str(path)) from None


def _fitting(trace: Trace) -> tuple[Trace, dict[str, NDArray[Any]], str]:
    """The trace without what makes its file too large, its arrays, and the JSON."""
    arrays: dict[str, NDArray[Any]] = {}
    content = json.dumps(_parted(trace.to_dict(), arrays), ensure_ascii=False)
    size = sum(one.nbytes for one in arrays.values()) + len(content.encode())
    if size <= LARGEST:
        return trace, arrays, content
    smaller = _smaller(trace)
    if smaller is None:
        raise RegardError(
            f"the trace needs {size >> 20} MB, and a file holds at most {LARGEST >> 20} MB.",
            fix="Predict a shorter input.",
        )
    return _fitting(smaller)


def _smaller(trace: Trace) -> Trace | None:
    """The trace without the least needed entry, the largest of its field; None if all are needed."""
    if trace.beam is not None and trace.beam.attention:
        bare = replace(trace, beam=replace(trace.beam, attention={}))
        return replace(bare, left_out=(*trace.left_out, "beam.attention"))
    for field in SPARED:
        held: Mapping[str, Any] = getattr(trace, field)
        if held:
            largest = max(held, key=lambda name: _size(held[name]))
            rest = {name: one for name, one in held.items() if name != largest}
            changed: dict[str, Any] = {field: rest, "left_out": (*trace.left_out, f"{field}.{largest}")}
            return replace(trace, **changed)
    return None


def _size(one: Any) -> int:
    return one.nbytes if isinstance(one, np.ndarray) else len(json.dumps(one.to_dict()))


def _parted(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Plain values with each large list of numbers moved into `arrays`, and its name in its place."""
    if isinstance(value, Mapping):
        if set(value) == PACKED:
            from regard.trace.seen import unpacked

            return {TENSOR: _named(unpacked(value), arrays), "packed": True}
        return {name: _parted(one, arrays) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    found = _array(value)
    if found is not None:
        return {TENSOR: _named(found, arrays)}
    return [_parted(one, arrays) for one in value]


def _named(array: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> str:
    name = str(len(arrays))
    arrays[name] = np.ascontiguousarray(array)
    return name


def _array(value: list[Any]) -> NDArray[Any] | None:
    """A list of numbers as an array that holds them exactly; None for short lists, and for lists of other things."""
    first: Any = value
    while isinstance(first, list) and first:
        first = first[0]
    if type(first) not in (int, float):
        return None
    try:
        array = np.array(value)
    except (ValueError, OverflowError):  # rows of different lengths, numbers that no type holds
        return None
    if array.size < FEWEST or array.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
        return None
    if array.dtype == np.float64:
        # Integers among the numbers would come back as floats.
        if any(type(one) is not float for one in _leaves(value)):
            return None
        small = array.astype(np.float32)
        return small if np.array_equal(small.astype(np.float64), array, equal_nan=True) else array
    low, high = int(array.min()), int(array.max())
    fits = next(kind for kind in INTEGERS if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return array.astype(fits)


def _leaves(value: list[Any]) -> Any:
    for one in value:
        if isinstance(one, list):
            yield from _leaves(one)
        else:
            yield one


def _filled(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of `_parted`."""
    if isinstance(value, list):
        return [_filled(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    if TENSOR in value:
        array = arrays[value[TENSOR]]
        if value.get("packed"):
            from regard.trace.seen import packed

            return packed(array)
        return array.tolist()
    return {name: _filled(one, arrays) for name, one in value.items()}
