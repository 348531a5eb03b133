"""Private functions of other libraries than torch: Accelerate, sacrebleu, numba and Triton."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from regard.private.feature import Feature, expect


def _try_reset() -> Any:
    from accelerate.state import AcceleratorState

    return AcceleratorState._reset_state


_reset = Feature(
    "the reset of Accelerate",
    "a process that has trained keeps its device and precision, and Accelerate reports a conflict with others",
    _try_reset,
)


def forget_accelerator() -> None:
    """Reset Accelerate. If it cannot be reset, Accelerate itself reports conflicts."""
    reset = _reset.get()
    if reset is None:
        return
    try:
        reset(reset_partial_state=True)
    except Exception as error:  # any failure: the state stays as it was
        _reset.turn_off(f"{type(error).__name__}: {error}")


_EXAMPLE = ["the cat sat", "a dog"], ["the cat sits", "one dog"]


def _try_statistics() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    predictions, references = _EXAMPLE
    for order in (0, 2):
        scorer = CHRF(word_order=order)
        rows = scorer._extract_corpus_statistics(predictions, [references])
        expect(len(rows) == 2 and len(rows[0]) == 3 * (6 + order), "the statistics of a row")
        summed = scorer._compute_score_from_stats([sum(column) for column in zip(*rows, strict=True)])
        whole = CHRF(word_order=order).corpus_score(predictions, [references])
        expect(abs(summed.score - whole.score) < 1e-9, "the score of summed statistics")
    return True


_statistics = Feature("sacrebleu's statistics of chrF", "chrF cannot be measured", _try_statistics)


def chrf_unusable() -> str:
    """Why the installed sacrebleu cannot be used for chrF; empty if it can."""
    return "" if _statistics.get() else _statistics.reason


def chrf_rows(scorer: Any, predictions: Sequence[str], streams: Sequence[Sequence[str | None]]) -> Any:
    """The statistics of each row; streams: the first references, the second ones, …"""
    return scorer._extract_corpus_statistics(predictions, streams)


def chrf_of(scorer: Any, sums: Sequence[int]) -> float:
    """chrF of summed statistics."""
    return float(scorer._compute_score_from_stats(sums).score)


class _Reached(Exception):
    pass


def _try_turns() -> Any:
    """numba compiles a function by calling `compile` of its dispatcher, which can be replaced."""
    from numba import njit
    from numba.core.compiler_lock import global_compiler_lock

    def stop(signature: Any) -> Any:
        raise _Reached

    # a function of its own: numba forgets nothing of a function whose compilation was interrupted
    function = njit(lambda number: number)
    expect(hasattr(function, "_cache") and hasattr(function, "overloads"), "a compiled function's parts")
    function.compile = stop
    try:
        function(1)
    except _Reached:
        return global_compiler_lock
    raise AttributeError("numba does not call `compile` of the function")


_turns = Feature(
    "numba's compilation in turns",
    "processes that start at the same time each compile the CPU kernels for themselves",
    _try_turns,
    alone=False,
)


def compile_in_turns(dispatcher: Any, turn: Callable[[str], AbstractContextManager[None]]) -> None:
    """Make numba compile a function inside `turn(signature)`, and cache the result inside `turn("")`. numba
    reads its index, adds a line and writes it back: two processes that do so at the same time would lose a
    line, or give two machine codes one name. numba's own lock is taken first, because threads of one process
    could otherwise deadlock. If numba cannot be made to, every process compiles for itself.
    """
    import numba

    if numba.config.DISABLE_JIT or (lock := _turns.get()) is None:  # type: ignore[attr-defined]
        return
    kept = dispatcher._cache
    save: Any = getattr(kept, "save_overload", None)
    if save is None:
        _turns.turn_off("AttributeError: a compiled function's cache has no save_overload")
        return
    compile: Callable[[Any], Any] = dispatcher.compile
    in_turn = 0

    def compile_in_turn(signature: Any) -> Any:
        with lock:
            if signature in dispatcher.overloads:
                return compile(signature)
            with turn(str(signature)):
                made = compile(signature)
            if not in_turn and not dispatcher.stats.cache_hits and _turns.get() is not None:
                _turns.turn_off("numba wrote its cache without save_overload")
            return made

    def save_in_turn(*given: Any) -> None:
        nonlocal in_turn
        in_turn += 1
        with turn(""):
            save(*given)

    dispatcher.compile, kept.save_overload = compile_in_turn, save_in_turn


def _try_keeping() -> Any:
    """The parts of a compiled function's cache that say where it lies, and what it was compiled from."""
    from numba.core.caching import FunctionCache, IndexDataCacheFile, _CacheLocator

    expect("_cache_path" in FunctionCache.__init__.__code__.co_names, "a cache's path")
    expect("_cache_file" in FunctionCache.__init__.__code__.co_names, "a cache's file")

    class Given(_CacheLocator):
        """A place that is given, for sources that are known by their fingerprint."""

        def __init__(self, place: str, sources: str, file: str) -> None:
            self.place, self.sources, self._py_file = place, sources, file

        def get_cache_path(self) -> str:
            return self.place

        def get_source_stamp(self) -> str:
            return self.sources

        def get_disambiguator(self) -> str:
            return ""

    return Given, IndexDataCacheFile


_keeping = Feature(
    "numba's cache, wherever regard is installed",
    "every copy of regard compiles the CPU kernels for itself",
    _try_keeping,
    alone=False,
)


def keep_in(dispatcher: Any, place: Path, sources: str) -> None:
    """Make numba keep the machine code of a function in this folder, whatever the path and the time of its file are;
    `sources` is the fingerprint of all that it was compiled from. If numba cannot be made to, it keeps it by path.
    """
    import numba

    if numba.config.DISABLE_JIT or (made := _keeping.get()) is None:  # type: ignore[attr-defined]
        return
    kept, (given, file) = dispatcher._cache, made
    base: str | None = getattr(getattr(kept, "_impl", None), "filename_base", None)
    if base is None:
        _keeping.turn_off("AttributeError: a compiled function's cache has no name")
        return
    kept._impl._locator = given(str(place), sources, dispatcher.py_func.__code__.co_filename)
    kept._cache_path = str(place)
    kept._cache_file = file(cache_path=str(place), filename_base=base, source_stamp=sources)


def _inside_compiler(library: Callable[[], Any]) -> Any:
    """A compiler of numba that puts its code into a library of the class that is given; None: numba's own."""
    from numba.core.compiler import Compiler

    class InsideCompiler(Compiler):
        def define_pipelines(self) -> Any:
            made = library()
            if made is not None:
                self.state.library = made(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            return super().define_pipelines()

    return InsideCompiler


def _inside_library() -> Any:
    """A library for code that is only linked into other code and has no address."""
    from numba.core.codegen import JITCodeLibrary

    class Inside(JITCodeLibrary):
        codegen = SimpleNamespace(set_env=lambda name, environment: None)

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

    return Inside


def _try_inside() -> Any:
    from numba import njit

    library = _inside_library()
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options["pipeline_class"] = _inside_compiler(lambda: library)
    inner = njit(**options)(lambda number: number + 3)
    outer = njit(lambda number: inner(number) * 2)
    expect(outer(4) == 14, "a function inside another")
    (made,) = inner.overloads.values()
    expect(made.library.get_pointer_to_function(made.fndesc.llvm_func_name) == 0, "its address")
    return library


_inside = Feature(
    "numba's compilation of inner functions",
    "the CPU kernels take half as long again to compile, once",
    _try_inside,
    alone=False,
)


@cache
def inside_kernels() -> dict[str, Any]:
    """Options of numba's `njit` for a function that only kernels call. The kernels contain its code, so the
    machine code that numba makes of the function alone is never run. It is not made here, which saves a third
    of the compilation time of a kernel. The first compilation tries this, because a trial compiles too.
    """
    try:
        return {"pipeline_class": _inside_compiler(_inside.get)}
    except ImportError:
        _inside.get()  # fails for the same reason, and warns
        return {}


def _no_cuda() -> str:
    return "" if torch.cuda.is_available() else "there is no CUDA device"


def _try_triton() -> Any:
    from regard.private import trial

    expect(trial.answer() == trial.EXPECTED, "a small kernel")
    return True


def _try_binary() -> Any:
    from regard.private import trial

    expect(trial.answer_of_binary() == trial.EXPECTED, "the binary of a small kernel")
    return True


_triton = Feature(
    "Triton",
    "the GPU kernels run as plain torch operations, several times slower",
    _try_triton,
    absent=_no_cuda,
)
_binaries = Feature(
    "the launch of Triton's compiled binaries",
    "small GPU kernels take up to twice as long to launch",
    _try_binary,
    absent=_no_cuda,
)


def triton_works() -> bool:
    """Whether Triton is installed and computes on the GPU. Not tried while a CUDA graph is recorded."""
    if not _triton.tried and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return False
    return _triton.get() is not None


def binaries_known() -> bool:
    """Whether a compiled Triton kernel can be launched directly, with all its arguments in order and addresses for
    tensors."""
    if not _binaries.tried and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return False
    return _binaries.get() is not None
