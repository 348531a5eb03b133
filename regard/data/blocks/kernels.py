"""Loops over the bytes of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.structures.kernels.cpu.compilation import inlined, kernel

RETURN, SPACE = 13, 32
ODD = np.uint64(0x9E3779B97F4A7C15)
"""Of the hash, which takes eight bytes at a time: 2⁶⁴ over the golden ratio."""
LONGEST_CELL = 131_072
"""Bytes above which the parser of quoted tables refuses a cell."""
GAP, NO_ROOM = np.int32(-1), np.int32(-2)


@kernel
def cut_lines(
    text: Any, kinds: Any, places: Any, width: Any, quotes: Any, starts: Any, ends: Any, lines: Any
) -> Any:
    """The places of the wanted cells of each line, and the bounds of each line; returns the number of lines.

    kinds   (256,) of each byte: 0 text, 1 the end of a line, 2 the end of a cell, 3 makes the row unusual
    lines   (lines, 3) start, end without the line end, and 1 if the row is as expected
    """
    size, fields = len(text), len(places)
    cells = np.empty((width, 2), np.int64)
    line, at = 0, 0
    while at < size:
        begin = at
        cell, cell_start, filled, usual = 0, at, False, True
        while True:
            while at < size and kinds[text[at]] == 0:
                at += 1
            kind = kinds[text[at]] if at < size else 1
            if kind == 1:
                break
            if kind == 2:
                if cell < width:
                    cells[cell, 0], cells[cell, 1] = cell_start, at
                filled |= at > cell_start
                cell += 1
                cell_start = at + 1
            else:
                usual = False
            at += 1
        end = at
        if end > cell_start and text[end - 1] == RETURN:
            end -= 1
        if quotes:
            usual &= end - begin < LONGEST_CELL
            for place in range(begin, end):
                usual &= text[place] != RETURN
        if cell < width:
            cells[cell, 0], cells[cell, 1] = cell_start, end
        filled |= end > cell_start
        lines[line, 0], lines[line, 1] = begin, end
        lines[line, 2] = usual and filled and cell + 1 == width
        if lines[line, 2]:
            for field in range(fields):
                starts[line, field], ends[line, field] = cells[places[field], 0], cells[places[field], 1]
        line += 1
        at += 1
    return line


@inlined
def eight(text: Any, at: Any) -> Any:
    """Eight bytes as one number."""
    place, number = np.uint64(at), np.uint64(0)
    for step in range(np.uint64(8)):
        number |= np.uint64(text[place + np.uint64(step)]) << (np.uint64(8) * np.uint64(step))
    return number


@inlined
def hashed(text: Any, begin: Any, end: Any) -> Any:
    code, at = np.uint64(end - begin), begin
    while at + 8 <= end:
        code = mixed(code ^ eight(text, at))
        at += 8
    number, step = np.uint64(0), np.uint64(0)
    while at < end:
        number |= np.uint64(text[at]) << step
        step += np.uint64(8)
        at += 1
    return mixed(mixed(code ^ number))


@inlined
def mixed(code: Any) -> Any:
    code *= ODD
    return code ^ (code >> np.uint64(32))


@inlined
def alike(text: Any, begin: Any, arena: Any, place: Any, size: Any) -> Any:
    """Whether a text and a known value are equal."""
    step = 0
    while step + 8 <= size:
        if eight(text, begin + step) != eight(arena, place + step):
            return False
        step += 8
    while step < size:
        if text[begin + step] != arena[place + step]:
            return False
        step += 1
    return True


@kernel
def look_up(
    text: Any,
    starts: Any,
    ends: Any,
    by_words: Any,
    first: Any,
    stops: Any,
    slots: Any,
    entries: Any,
    arena: Any,
    state: Any,
    found: Any,
    offsets: Any,
) -> Any:
    """The entries of the values of rows from `first` on, or of their words; unknown ones become entries.

    entries  (most, 4) hash, start in the arena, length, and how often it occurred
    state    entries, bytes of the arena, number of found entries
    found    an entry of each value or word, −1 for a space, −2 if all entries are taken
    offsets  (rows + 1) the found entries of each row
    stops    whether to stop at a row with a new value when all entries are taken; nothing of that row is counted
    Returns the row at which it stopped, or the number of rows.
    """
    mask, most = len(slots) - 1, min(len(entries), len(slots) // 2)
    for row in range(first, len(starts)):
        at, end = starts[row], ends[row]
        while True:
            begin = at
            if by_words:
                while at < end and text[at] != SPACE:
                    at += 1
            else:
                at = end
            if at > begin or not by_words:
                code, size = hashed(text, begin, at), at - begin
                slot = np.int64(code & np.uint64(mask))
                entry = slots[slot]
                while entry >= 0:
                    if (
                        entries[entry, 0] == np.int64(code)
                        and entries[entry, 2] == size
                        and alike(text, begin, arena, entries[entry, 1], size)
                    ):
                        break
                    slot = (slot + 1) & mask
                    entry = slots[slot]
                if entry < 0:
                    if state[0] < most and state[1] + size <= len(arena):
                        entry = np.int32(state[0])
                        slots[slot] = entry
                        entries[entry, 0], entries[entry, 1], entries[entry, 2] = (
                            np.int64(code),
                            state[1],
                            size,
                        )
                        entries[entry, 3] = 0
                        for step in range(size):
                            arena[state[1] + step] = text[begin + step]
                        state[0] += 1
                        state[1] += size
                    elif stops:
                        for place in range(offsets[row], state[2]):
                            if found[place] >= 0:
                                entries[found[place], 3] -= 1
                        state[2] = offsets[row]
                        return row
                    else:
                        entry = NO_ROOM
                if entry >= 0:
                    entries[entry, 3] += 1
                found[state[2]] = entry
                state[2] += 1
            if at >= end:
                break
            found[state[2]] = GAP
            state[2] += 1
            at += 1
        offsets[row + 1] = state[2]
    return len(starts)


@kernel
def spread(slots: Any, entries: Any, count: Any) -> None:
    """Fill empty slots with the entries."""
    mask = len(slots) - 1
    for entry in range(count):
        slot = np.int64(np.uint64(entries[entry, 0]) & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry


@kernel
def measure(found: Any, offsets: Any, sizes: Any, marks: Any, space: Any, lengths: Any, usual: Any) -> None:
    """The length of the encoding of each row, and whether it is usual: nothing is refused, something is not blank.

    sizes, marks   of each entry: the length of its encoding; 1 refused, 2 blank
    space          the length of the encoding of a space
    """
    for row in range(len(lengths)):
        total, refused, filled = 0, False, False
        for place in range(offsets[row], offsets[row + 1]):
            entry = found[place]
            if entry == NO_ROOM:
                refused = True
            elif entry < 0:
                total += space
            else:
                total += sizes[entry]
                refused |= marks[entry] == 1
                filled |= marks[entry] == 0
        lengths[row] = total
        usual[row] &= filled and not refused


@kernel
def gather(
    found: Any, offsets: Any, rows: Any, sizes: Any, places: Any, known: Any, space: Any, values: Any
) -> None:
    """The encodings of the given rows, one after the other."""
    at = 0
    for row in rows:
        for place in range(offsets[row], offsets[row + 1]):
            entry = found[place]
            if entry < 0:
                for step in range(len(space)):
                    values[at] = space[step]
                    at += 1
            else:
                begin = places[entry]
                for step in range(sizes[entry]):
                    values[at] = known[begin + step]
                    at += 1


@kernel
def copy_cells(text: Any, starts: Any, ends: Any, into: Any) -> None:
    """The bytes of some cells, one after the other."""
    at = 0
    for row in range(len(starts)):
        for place in range(starts[row], ends[row]):
            into[at] = text[place]
            at += 1


@kernel
def write_places(file: Any, numbers: Any, into: Any, lengths: Any) -> Any:
    """ "file:line" of each row; returns the number of bytes."""
    at = 0
    for row in range(len(numbers)):
        begin = at
        for step in range(len(file)):
            into[at] = file[step]
            at += 1
        number, digits = numbers[row], 1
        while number >= 10:
            number //= 10
            digits += 1
        number = numbers[row]
        for step in range(digits):
            into[at + digits - 1 - step] = 48 + number % 10
            number //= 10
        at += digits
        lengths[row] = at - begin
    return at
