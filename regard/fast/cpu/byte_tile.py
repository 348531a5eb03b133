"""The innermost loop of a matrix product of bytes: a few rows times a panel of columns, sums in registers.

As `tile`, with VNNI: one instruction multiplies four bytes of a row by four bytes of each of 16 columns and adds the
products to 16 sums of 32 bits, without overflow for fewer than 65,000 terms.

    Σ_k (u_k − 128) w_k = Σ_k u_k w_k − 128 Σ_k w_k

The bytes u of a row have no sign, those of a weight do. `starts` holds −128 Σ w of each column; the sums begin there.
Whole numbers have one sum, whatever the order, so a row's product does not depend on the other rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from regard.fast.cpu.tile import FETCHES, HEIGHTS, LINE, WIDTH, TileWriter

TOGETHER = 4
"""Bytes that one instruction multiplies and adds for each sum."""
_LANES = 16
_INDEX, _SUM, _NUMBER = ir.IntType(64), ir.IntType(32), ir.FloatType()
_SUMS, _NUMBERS = ir.VectorType(_SUM, _LANES), ir.VectorType(_NUMBER, _LANES)
_PIECES = WIDTH // _LANES


@cache
def multiplies_bytes() -> bool:
    """Whether this CPU has the instruction (AVX-512 VNNI)."""
    return bool(WIDTH == 32 and binding.get_host_cpu_features().get("avx512vnni", False))


class _ByteWriter(TileWriter):
    def __init__(self, builder: Any) -> None:
        super().__init__(builder, _NUMBER, 4)
        kind = ir.FunctionType(_SUMS, [_SUMS, _SUMS, _SUMS])
        name = "llvm.x86.avx512.vpdpbusd.512"
        found = builder.module.globals.get(name)
        self.instruction = ir.Function(builder.module, kind, name) if found is None else found

    def read(self, address: Any, kind: Any, offset: int = 0) -> Any:
        place = self.builder.add(address, ir.Constant(_INDEX, offset))
        loaded = self.builder.load(self.builder.inttoptr(place, kind.as_pointer()))
        loaded.align = 1
        return loaded

    def put(self, value: Any, address: Any, offset: int) -> None:
        place = self.builder.add(address, ir.Constant(_INDEX, offset))
        written = self.builder.store(value, self.builder.inttoptr(place, value.type.as_pointer()))
        written.align = 4

    def read_repeated(self, address: Any, kind: Any) -> Any:
        """A number at an address, in all lanes of a vector."""
        single = self.read(address, ir.VectorType(kind, 1))
        lanes = ir.Constant(_SUMS, [0] * _LANES)
        return self.builder.shuffle_vector(single, ir.Constant(single.type, ir.Undefined), lanes)

    def add_products(self, sums: list[list[Any]], rows: list[Any], panel: Any, depth: Any) -> list[list[Any]]:
        builder, entry = self.builder, self.builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(_INDEX)
        k.add_incoming(ir.Constant(_INDEX, 0), entry)
        running = [[builder.phi(_SUMS) for _ in row] for row in sums]
        for phis, values in zip(running, sums, strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, entry)
        builder.cbranch(builder.icmp_signed("<", k, depth), body, done)
        builder.position_at_end(body)
        place = self.moved(panel, k, TOGETHER * WIDTH)
        if len(rows) == FETCHES:
            self.prefetch(self.moved(place, depth, TOGETHER * WIDTH), TOGETHER * WIDTH // LINE)
        columns = [self.read(place, _SUMS, piece * TOGETHER * _LANES) for piece in range(_PIECES)]
        grown = []
        for row, phis in zip(rows, running, strict=True):
            four = self.read_repeated(self.moved(row, k, TOGETHER), _SUM)
            grown.append(
                [
                    builder.call(self.instruction, [phi, four, one])
                    for phi, one in zip(phis, columns, strict=True)
                ]
            )
        k.add_incoming(builder.add(k, ir.Constant(_INDEX, 1)), builder.block)
        for phis, values in zip(running, grown, strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        return running

    def write(self, sums: list[Any], scale: Any, scales: Any, begin: Any, add: Any, target: Any) -> None:
        """Multiply by the scales of the row and of the columns, add what the sums begin with, and write."""
        builder = self.builder
        for piece, total in enumerate(sums):
            offset = piece * TOGETHER * _LANES
            factor = builder.fmul(scale, self.read(scales, _NUMBERS, offset))
            value = builder.fmul(builder.sitofp(total, _NUMBERS), factor)
            with builder.if_else(add) as (there, nothing):
                with there:
                    grown = builder.fadd(value, self.read(begin, _NUMBERS, offset))
                    there_block = builder.block
                with nothing:
                    nothing_block = builder.block
            chosen = builder.phi(_NUMBERS)
            chosen.add_incoming(grown, there_block)
            chosen.add_incoming(value, nothing_block)
            self.put(chosen, target, offset)


def _make(count: int) -> Any:
    def tile(
        typing: Any, rows: Any, scales: Any, place: Any, values: Any, columns: Any, starts: Any, panel: Any,
        begin: Any, begin_place: Any, begin_step: Any, begin_column: Any, add: Any,
        out: Any, out_place: Any, out_step: Any, out_column: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _ByteWriter(builder)

            def array(number: int) -> tuple[Any, Any, Any]:
                """The address of an array, the bytes from one element of its first axis to the next, and its shape."""
                made = context.make_array(signature.args[number])(context, builder, arguments[number])
                step = builder.extract_value(made.strides, 0)
                return builder.ptrtoint(made.data, _INDEX), step, made.shape

            def element(number: int, index: Any) -> Any:
                start, step, _ = array(number)
                return builder.add(start, builder.mul(index, step))

            one = ir.Constant(_INDEX, 1)
            sources, factors = [element(0, arguments[2])], [element(1, arguments[2])]
            begun = [writer.moved(element(7, arguments[8]), arguments[10], 4)]
            targets = [writer.moved(element(12, arguments[13]), arguments[15], 4)]
            (_, length, _), (_, begin_length, _), (_, out_length, _) = array(0), array(7), array(12)
            for _ in range(count - 1):
                sources.append(builder.add(sources[-1], builder.mul(one, length)))
                factors.append(builder.add(factors[-1], ir.Constant(_INDEX, 4)))
                begun.append(builder.add(begun[-1], builder.mul(arguments[9], begin_length)))
                targets.append(builder.add(targets[-1], builder.mul(arguments[14], out_length)))
            source, begins = element(3, arguments[6]), element(5, arguments[6])
            depth = builder.extract_value(array(3)[2], 1)
            first = [writer.read(begins, _SUMS, piece * TOGETHER * _LANES) for piece in range(_PIECES)]
            sums = writer.add_products([list(first) for _ in range(count)], sources, source, depth)
            for total, factor, start, target in zip(sums, factors, begun, targets, strict=True):
                scale = writer.read_repeated(factor, _NUMBER)
                writer.write(total, scale, element(4, arguments[6]), start, arguments[11], target)
            return context.get_dummy_value()

        index = types.intp
        result = types.void(
            rows, scales, index, values, columns, starts, index, begin, index, index, index, types.boolean,
            out, index, index, index,
        )  # fmt: skip
        return result, generate

    tile.__name__ = f"byte_tile_{count}"
    return intrinsic(tile)


first_byte_tile, second_byte_tile, third_byte_tile, fourth_byte_tile = (_make(count) for count in HEIGHTS)
"""tile(rows, scales, place, values, columns, starts, panel, begin, …, add, out, …): multiply the rows place, place + 1,
… of bytes (n, K) with their scales (n) by one of the panels (P, K / 4, 4 · WIDTH), with the scales and starts (P,
WIDTH) of its columns. The rest is as in `tile`. Bounds are not checked."""
