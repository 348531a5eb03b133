"""Many numbers of a row at once: which of them are above a value, and weighted sums of rows.

Written in LLVM IR, as `tile`: the compiler does not turn a comparison that ends early into vectors, and it writes the
sum of a row to memory after every term that it adds.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from regard.fast.cpu.tile import WIDTH, TileWriter

LANES = 32
"""Numbers that are compared at once."""
GROUP = 4
"""Vectors of WIDTH sums that `add_many` keeps in registers."""
MANY = GROUP * WIDTH
_INDEX = ir.IntType(64)


def _contiguous(*arrays: Any) -> None:
    for array in arrays:
        if array.layout != "C":
            raise TypeError("the rows must be contiguous")


@intrinsic
def above_bits(typing: Any, row: Any, first: Any, value: Any) -> Any:
    """The bits of the numbers row[first], … (LANES) that are greater than a value, or are not a number."""
    _contiguous(row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.get_value_type(row.dtype)
        writer = TileWriter(builder, number, context.get_abi_sizeof(number))
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = writer.moved(builder.ptrtoint(made.data, _INDEX), arguments[1], writer.size)
        least = writer.repeated(arguments[2], LANES)
        greater = builder.fcmp_unordered(">", writer.load(place, LANES), least)
        return builder.zext(builder.bitcast(greater, ir.IntType(LANES)), _INDEX)

    return types.int64(row, types.intp, row.dtype), generate


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The place of the lowest bit of a number that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _make(groups: int) -> Any:
    def add(
        typing: Any, values: Any, row: Any, places: Any, count: Any, weights: Any, column: Any, out: Any
    ) -> Any:
        _contiguous(values, places, weights, out)
        if places.dtype != types.int64 or not values.dtype == weights.dtype == out.dtype:
            raise TypeError("places are int64, and all numbers of one precision")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = context.get_value_type(values.dtype)
            size = context.get_abi_sizeof(number)
            writer = TileWriter(builder, number, size)

            def array(index: int) -> Any:
                return context.make_array(signature.args[index])(context, builder, arguments[index])

            def start(made: Any) -> Any:
                return builder.ptrtoint(made.data, _INDEX)

            made = array(0)
            step, length = (builder.extract_value(made.strides, axis) for axis in (0, 1))
            first = builder.add(start(made), builder.mul(arguments[1], step))
            first = writer.moved(first, arguments[5], size)
            listed, factors = start(array(2)), start(array(4))
            target = writer.moved(start(array(6)), arguments[5], size)

            entry = builder.block
            head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
            builder.branch(head)
            builder.position_at_end(head)
            j = builder.phi(_INDEX)
            j.add_incoming(ir.Constant(_INDEX, 0), entry)
            sums = [builder.phi(writer.wide) for _ in range(groups)]
            for one in sums:
                one.add_incoming(ir.Constant(writer.wide, [0.0] * WIDTH), entry)
            builder.cbranch(builder.icmp_signed("<", j, arguments[3]), body, done)
            builder.position_at_end(body)
            place = builder.load(builder.inttoptr(writer.moved(listed, j, 8), _INDEX.as_pointer()))
            weight = builder.load(builder.inttoptr(writer.moved(factors, place, size), number.as_pointer()))
            factor = writer.repeated(weight, WIDTH)
            source = builder.add(first, builder.mul(place, length))
            for group, one in enumerate(sums):
                offset = ir.Constant(_INDEX, group * WIDTH * size)
                term = builder.fmul(
                    factor, writer.load(builder.add(source, offset), WIDTH), flags=["contract"]
                )
                one.add_incoming(builder.fadd(one, term, flags=["contract"]), body)
            j.add_incoming(builder.add(j, ir.Constant(_INDEX, 1)), body)
            builder.branch(head)
            builder.position_at_end(done)
            for group, one in enumerate(sums):
                writer.store(one, builder.add(target, ir.Constant(_INDEX, group * WIDTH * size)))
            return context.get_dummy_value()

        index = types.intp
        return types.void(values, index, places, index, weights, index, out), generate

    add.__name__ = f"add_{groups}"
    return intrinsic(add)


add_many, add_few = _make(GROUP), _make(1)
"""add(values, row, places, count, weights, column, out): write Σ_j α_p values[row, p], p = places[j] for j < count,
with α the weights, into MANY or WIDTH columns of a row, from `column` on. Bounds are not checked."""
