"""Random mutations of bytes, texts, JSON and files, which leave almost valid content."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEEP = "nested "
"""Placeholder for nested brackets; `written` expands it."""
ODD_TEXTS = (
    "", " ", "\0", "\n", "\t", "a" * 300, "a" * 5000, "\u202e", "\x1b]52;c;aGk=\x07", "\x1b[2J", "\ud800", "ﬀ", "é",
    "日本", "🙂", "-1", "0", "1e309", "nan", "null", "{", "}", "[", "]", "{}", "[]", "{\"source\": null}", "../../x",
    "/dev/zero", "/proc/self/mem", "<script>", "[/bold]", "%s%n", "*a", "&a", "a: b", "- a", "'", '"', "\\", "=",
    "a=b", "~", "-", "--",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 10**9, 10**30, -0.5, 1e308, float("inf"), float("nan"), [], {}, [[]], [None],
    {"a": 1}, {"type": "text"}, *ODD_TEXTS[:12],
)  # fmt: skip


def mutated_bytes(content: bytes, random: random.Random) -> bytes:
    """Different content or, rarely, the same."""
    change = random.choice(
        (flip, flip, flip, many, cut, cut, behead, insert, erase, zero, double, swap, nothing, digits)
    )
    return change(bytearray(content), random)


def flip(content: bytearray, random: random.Random) -> bytes:
    """Flip one bit."""
    if content:
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)


def many(content: bytearray, random: random.Random) -> bytes:
    """Replace several bytes."""
    for _ in range(random.randint(2, 16)):
        if content:
            content[random.randrange(len(content))] = random.randrange(256)
    return bytes(content)


def cut(content: bytearray, random: random.Random) -> bytes:
    return bytes(content[: random.randint(0, len(content))])


def behead(content: bytearray, random: random.Random) -> bytes:
    return bytes(content[random.randint(0, min(len(content), 64)) :])


def insert(content: bytearray, random: random.Random) -> bytes:
    place = random.randint(0, len(content))
    new = random.choice(
        (random.randbytes(random.randint(1, 40)), random.choice(ODD_TEXTS).encode(errors="replace"))
    )
    return bytes(content[:place] + new + content[place:])


def erase(content: bytearray, random: random.Random) -> bytes:
    place = random.randint(0, len(content))
    return bytes(content[:place] + content[place + random.randint(1, 40) :])


def zero(content: bytearray, random: random.Random) -> bytes:
    """Zero a block, as a file system does that lost unflushed data."""
    place, length = random.randint(0, len(content)), random.choice((8, 64, 512, 4096))
    length = min(length, len(content) - place)
    return bytes(content[:place] + b"\0" * length + content[place + length :])


def double(content: bytearray, random: random.Random) -> bytes:
    place = random.randint(0, len(content))
    return bytes(content[:place] + content[place : place + random.randint(1, 200)] + content[place:])


def swap(content: bytearray, random: random.Random) -> bytes:
    """Swap two blocks."""
    first, second = sorted(random.randint(0, len(content)) for _ in range(2))
    length = min(second - first, len(content) - second, 16)
    content[first : first + length], content[second : second + length] = (
        content[second : second + length],
        content[first : first + length],
    )
    return bytes(content)


def digits(content: bytearray, random: random.Random) -> bytes:
    """Replace a digit by another: well-formed, but wrong."""
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if places:
        content[random.choice(places)] = random.randrange(48, 58)
    return bytes(content)


def nothing(content: bytearray, random: random.Random) -> bytes:
    return b""


def mutated_json(content: bytes, random: random.Random) -> bytes:
    """Change one value, key or entry."""
    try:
        value = json.loads(content)
    except ValueError:
        return mutated_bytes(content, random)
    return written(mutated_value(value, random), random)


def written(value: Any, random: random.Random) -> bytes:
    """The value as JSON, with placeholders for deep nesting expanded."""
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    text = re.sub(f'"{DEEP}([0-9]+)"', lambda found: "[" * int(found[1]) + "]" * int(found[1]), text)
    return text.encode(errors="surrogatepass")


def mutated_value(value: Any, random: random.Random) -> Any:
    places = list(_places(value))
    if not places or random.random() < 0.05:
        return odd_value(random)
    holder, key = random.choice(places)
    change = random.random()
    if change < 0.2:
        del holder[key]
    elif change < 0.35 and isinstance(holder, dict):
        holder[random.choice(ODD_TEXTS)] = holder.pop(key)
    elif change < 0.45 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif change < 0.55:
        holder[key] = f"{DEEP}{random.choice((3, 60, 2000))}"
    else:
        holder[key] = odd_value(random)
    return value


def odd_value(random: random.Random) -> Any:
    return copy.deepcopy(random.choice(ODD_VALUES))


def _places(value: Any) -> Any:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        yield value, key
        yield from _places(inner)


def replaced_file(path: Path, random: random.Random) -> None:
    """Remove the file, or replace it by something else."""
    change: Callable[[Path], Any] = random.choice(
        (
            os.unlink,
            _folder,
            lambda path: _link(path, "/dev/zero"),
            lambda path: _link(path, path.name),
            lambda path: _link(path, "/nowhere"),
            _pipe,
            _sparse,
        )
    )
    change(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    """Extend the file to three gigabytes that take no disk space."""
    os.truncate(path, 3 << 30)


def restore(folder: Path, whole: Path, name: str) -> None:
    """Restore one entry of a folder."""
    path = folder / name
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)
    shutil.copy2(whole / name, path)
