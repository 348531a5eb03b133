"""The innermost loop of a matrix product: a few rows times a panel of columns, sums in registers.

Written in LLVM IR, because only there can the sums of a row be declared as one vector. The compiler splits the
vector into as many registers as the CPU needs. A tile must have more sums than its multiply-add units have in flight,
and no more than there are registers:

    ARM        4 rows × 16 columns, 16 of 32 registers of 128 bits
    AVX2       6 rows × 16 columns, 12 of 16 registers of 256 bits
    AVX-512    8 rows × 32 columns, 16 of 32 registers of 512 bits

ARM multiplies by one lane of a register, x86 by a number that it repeats while loading it. Every sum adds its terms in
order, one rounding for each, so a row's product does not depend on the height of its tile.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

UNROLLED = 4
"""Steps of the inner loop."""
LINE = 64
"""Bytes of a line of the cache. While a panel is multiplied by many rows, the next one is fetched from the third-level
cache."""


def _shape() -> tuple[int, tuple[int, int, int, int], bool]:
    """Columns of a panel, rows of the tiles, and whether numbers are repeated from memory."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "x86"):
        return 16, (4, 3, 2, 1), False
    if binding.get_host_cpu_features().get("avx512f", False):
        return 32, (8, 5, 2, 1), True
    return 16, (6, 4, 2, 1), True


WIDTH, HEIGHTS, REPEATS = _shape()
"""Columns of a panel; rows of the four tiles, the highest first; whether a number is repeated while it is loaded."""

FETCHES = HEIGHTS[0] if REPEATS else 0
"""Height of the tiles that fetch the next panel meanwhile: lower ones are done before it comes, and only lose time."""
_INDEX = ir.IntType(64)


class TileWriter:
    """Writes the instructions of one tile: Σ_k rows[r, k] · panel[k] for `count` rows, from k = 0 to the depth."""

    def __init__(self, builder: Any, number: Any, size: int) -> None:
        self.builder, self.number, self.size = builder, number, size
        self.wide = ir.VectorType(number, WIDTH)

    def moved(self, address: Any, count: Any, size: int) -> Any:
        """The address plus `count` elements of `size` bytes."""
        return self.builder.add(address, self.builder.mul(count, ir.Constant(_INDEX, size)))

    def load(self, address: Any, lanes: int) -> Any:
        pointer = self.builder.inttoptr(address, ir.VectorType(self.number, lanes).as_pointer())
        loaded = self.builder.load(pointer)
        loaded.align = self.size
        return loaded

    def prefetch(self, address: Any, lines: int) -> None:
        """Ask for some lines of the cache from an address on. They may lie beyond the end of the memory."""
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = self.builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        how = [ir.Constant(number, choice) for choice in (0, 2, 1)]  # to read, into the second level, data
        for line in range(lines):
            place = self.builder.add(address, ir.Constant(_INDEX, line * LINE))
            self.builder.call(function, [self.builder.inttoptr(place, byte), *how])

    def store(self, value: Any, address: Any) -> None:
        written = self.builder.store(value, self.builder.inttoptr(address, self.wide.as_pointer()))
        written.align = self.size

    def _repeated(self, vector: Any, lane: int, count: int = WIDTH) -> Any:
        """One number of a short vector, repeated in all lanes of a wide one."""
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), count), [lane] * count)
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), lanes)

    def repeated(self, value: Any, lanes: int) -> Any:
        """A number in all lanes of a vector."""
        first = ir.Constant(ir.IntType(32), 0)
        single = ir.Constant(ir.VectorType(self.number, 1), ir.Undefined)
        return self._repeated(self.builder.insert_element(single, value, first), 0, lanes)

    def _factors(self, row: Any, step: int) -> list[Any]:
        """`step` numbers at an address, each in all lanes of a wide vector."""
        if not REPEATS:
            loaded = self.load(row, step)
            return [self._repeated(loaded, lane) for lane in range(step)]
        places = [self.moved(row, ir.Constant(_INDEX, lane), self.size) for lane in range(step)]
        return [self._repeated(self.load(place, 1), 0) for place in places]

    def choose(self, condition: Any, addresses: Sequence[Any]) -> list[Any]:
        """The values at the addresses if the condition holds, else zeros."""
        zero = ir.Constant(self.wide, [0.0] * WIDTH)
        with self.builder.if_else(condition) as (there, nothing):
            with there:
                loaded = [self.load(address, WIDTH) for address in addresses]
                there_block = self.builder.block
            with nothing:
                nothing_block = self.builder.block
        chosen = [self.builder.phi(self.wide) for _ in addresses]
        for phi, value in zip(chosen, loaded, strict=True):
            phi.add_incoming(value, there_block)
            phi.add_incoming(zero, nothing_block)
        return chosen

    def accumulate(
        self,
        sums: Sequence[Any],
        rows: Sequence[Any],
        panel: Any,
        first: Any,
        end: Any,
        step: int,
        length: Any,
    ) -> tuple[list[Any], Any]:
        """Add the terms k = first, … while k < end, `step` in each iteration; returns the sums and next k.
        `length`: terms of a panel."""
        builder, entry = self.builder, self.builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(_INDEX)
        k.add_incoming(first, entry)
        running = [builder.phi(self.wide) for _ in sums]
        for phi, value in zip(running, sums, strict=True):
            phi.add_incoming(value, entry)
        builder.cbranch(builder.icmp_signed("<", k, end), body, done)
        builder.position_at_end(body)
        factors = [self._factors(self.moved(row, k, self.size), step) for row in rows]
        place, grown = self.moved(panel, k, self.size * WIDTH), list(running)
        for lane in range(step):
            columns = self.load(self.moved(place, ir.Constant(_INDEX, lane), self.size * WIDTH), WIDTH)
            if len(rows) == FETCHES:
                ahead = builder.add(place, builder.mul(length, ir.Constant(_INDEX, self.size * WIDTH)))
                offset = ir.Constant(_INDEX, lane * self.size * WIDTH)
                self.prefetch(builder.add(ahead, offset), self.size * WIDTH // LINE)
            for r, factor in enumerate(factors):
                term = builder.fmul(factor[lane], columns, flags=["contract"])
                grown[r] = builder.fadd(grown[r], term, flags=["contract"])
        k.add_incoming(builder.add(k, ir.Constant(_INDEX, step)), builder.block)
        for phi, value in zip(running, grown, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        return running, k


def _make(count: int) -> Any:
    def tile(
        typing: Any,
        rows: Any,
        place: Any,
        step: Any,
        column: Any,
        panels: Any,
        panel: Any,
        begin: Any,
        begin_place: Any,
        begin_step: Any,
        begin_column: Any,
        add: Any,
        out: Any,
        out_place: Any,
        out_step: Any,
        out_column: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = context.get_value_type(rows.dtype)
            size = context.get_abi_sizeof(number)
            writer = TileWriter(builder, number, size)

            def window(array: int, first: int, step: int, column: int) -> list[Any]:
                """The addresses of `count` rows: `first`, `first` + `step`, …, from `column` on."""
                made = context.make_array(signature.args[array])(context, builder, arguments[array])
                length = builder.extract_value(made.strides, 0)
                start = builder.ptrtoint(made.data, _INDEX)
                start = builder.add(start, builder.mul(arguments[first], length))
                found = [writer.moved(start, arguments[column], size)]
                for _ in range(count - 1):
                    found.append(builder.add(found[-1], builder.mul(arguments[step], length)))
                return found

            starts, begins, targets = window(0, 1, 2, 3), window(6, 7, 8, 9), window(11, 12, 13, 14)
            packed = context.make_array(signature.args[4])(context, builder, arguments[4])
            depth = builder.extract_value(packed.shape, 1)
            whole = builder.and_(depth, ir.Constant(_INDEX, -UNROLLED))
            offset = builder.mul(arguments[5], builder.extract_value(packed.strides, 0))
            source = builder.add(builder.ptrtoint(packed.data, _INDEX), offset)
            sums = writer.choose(arguments[10], begins)
            sums, k = writer.accumulate(sums, starts, source, ir.Constant(_INDEX, 0), whole, UNROLLED, depth)
            sums, _ = writer.accumulate(sums, starts, source, k, depth, 1, depth)
            for value, target in zip(sums, targets, strict=True):
                writer.store(value, target)
            return context.get_dummy_value()

        index = types.intp
        result = types.void(
            rows, index, index, index, panels, index, begin, index, index, index, types.boolean,
            out, index, index, index,
        )  # fmt: skip
        return result, generate

    tile.__name__ = f"tile_{count}"
    return intrinsic(tile)


first_tile, second_tile, third_tile, fourth_tile = (_make(count) for count in HEIGHTS)
"""tile(rows, place, step, column, panels, panel, begin, begin_place, begin_step, begin_column, add, out, out_place,
out_step, out_column): multiply the rows place, place + step, … of an array, from `column` on, by one of the panels (P,
K, WIDTH), and write the result to WIDTH columns of as many rows of another array. With `add` the sums start with the
numbers of a third one, which may be the target. Bounds are not checked."""
