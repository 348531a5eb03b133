"""Sums over long rows of one array in vectors of eight doubles, as instructions: a call costs nothing, and the compiler
need not find out whether the rows overlap.

A row is given by the index of its first element in a contiguous array of doubles, of any number of axes. The row
that is written may not overlap those that are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

_LANES = 8
Read = Callable[[int], Any]
Write = Callable[[int, Any], None]
Body = Callable[[Any, Read, Write], None]


def _over_rows(rows: int, body: Body) -> Any:
    """The signature of memory, rows and their length, and the code of a loop with this body."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        starts = [builder.gep(data, [place]) for place in arguments[1:-1]]
        count = arguments[-1]
        whole = builder.and_(count, ir.Constant(count.type, -_LANES))
        zero, one, many = (ir.Constant(count.type, number) for number in (0, 1, _LANES))
        single = ir.DoubleType()
        for kind, first, last, step in (
            (ir.VectorType(single, _LANES), zero, whole, many),
            (single, whole, count, one),
        ):
            before = builder.basic_block
            head, turn, after = (builder.append_basic_block(name) for name in ("rows", "row", "after"))
            builder.branch(head)
            builder.position_at_end(head)
            index = builder.phi(count.type)
            index.add_incoming(first, before)
            builder.cbranch(builder.icmp_signed("<", index, last), turn, after)
            builder.position_at_end(turn)

            def at(row: int, kind: Any = kind, index: Any = index) -> Any:
                return builder.bitcast(builder.gep(starts[row], [index]), kind.as_pointer())

            def load(row: int, at: Any = at) -> Any:
                return builder.load(at(row), align=8)

            def store(row: int, value: Any, at: Any = at) -> None:
                builder.store(value, at(row), align=8)

            body(builder, load, store)
            index.add_incoming(builder.add(index, step), builder.basic_block)
            builder.branch(head)
            builder.position_at_end(after)
        return context.get_dummy_value()

    return lambda memory: (types.void(memory, *[types.intp] * (rows + 1)), generate)


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x · y + z, rounded once if the CPU can."""
    return builder.fadd(builder.fmul(x, y, flags=("contract",)), z, flags=("contract",))


def _product(builder: Any, read: Read, write: Write) -> None:
    write(0, _fused(builder, read(1), read(2), read(0)))


def _products(builder: Any, read: Read, write: Write) -> None:
    one = _fused(builder, read(1), read(2), read(0))
    write(0, _fused(builder, read(3), read(4), one))


def _shared(builder: Any, read: Read, write: Write) -> None:
    parent = read(0)
    write(3, _fused(builder, parent, read(2), read(3)))
    write(4, _fused(builder, parent, read(1), read(4)))


def _shared_rates(builder: Any, read: Read, write: Write) -> None:
    parent, rate = read(0), read(1)
    for target, value, change in ((6, 3, 5), (7, 2, 4)):
        one = _fused(builder, rate, read(value), read(target))
        write(target, _fused(builder, parent, read(change), one))


@intrinsic  # type: ignore[untyped-decorator]
def add_product(typing_context: Any, memory: Any, target: Any, a: Any, b: Any, count: Any) -> Any:
    """target += a · b."""
    return _over_rows(3, _product)(memory)


@intrinsic  # type: ignore[untyped-decorator]
def add_products(
    typing_context: Any, memory: Any, target: Any, a: Any, b: Any, c: Any, d: Any, count: Any
) -> Any:
    """target += a · b + c · d."""
    return _over_rows(5, _products)(memory)


@intrinsic  # type: ignore[untyped-decorator]
def share(
    typing_context: Any, memory: Any, parent: Any, a: Any, b: Any, to_a: Any, to_b: Any, count: Any
) -> Any:
    """to_a += parent · b and to_b += parent · a: the derivative of parent · a · b by a and b."""
    return _over_rows(5, _shared)(memory)


@intrinsic  # type: ignore[untyped-decorator]
def share_rates(
    typing_context: Any, memory: Any, parent: Any, rate: Any, a: Any, b: Any, rate_of_a: Any, rate_of_b: Any,
    to_a: Any, to_b: Any, count: Any,
) -> Any:  # fmt: skip
    """to_a += rate · b + parent · rate_of_b and to_b += rate · a + parent · rate_of_a: the rates of `share`."""
    return _over_rows(8, _shared_rates)(memory)
