"""What makes regard fast here: kernels, functions of other packages, paths; what is off, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.cli.doctor.finding import Finding, size
from regard.cli.doctor.machine import used

PACKAGE = Path(__file__).parents[2]
DEVICES = {"cpu": "CPU", "cuda": "CUDA"}


def kernels() -> Iterator[Finding]:
    """Folders of compiled kernels, and one kernel tried against plain code."""
    from llvmlite import binding  # type: ignore[import-untyped]

    from regard.structures.kernels.cpu import compilation

    yield _tried()
    for sources in sorted({compilation.HERE, *compilation.compiled_here()}):
        name, folder = ".".join(sources.relative_to(PACKAGE).parts), compilation.folder(sources)
        if folder is None:
            reason = "no folder for compiled kernels can be written: every process compiles them again"
            yield Finding(name, "not kept", "wrong", reason, "Set NUMBA_CACHE_DIR to a folder that can be.")
        else:
            count = len(list(folder.rglob("*.nbc")))
            place = folder.relative_to(PACKAGE.parent) if folder.is_relative_to(PACKAGE) else folder
            if count:
                told = f"{count} compiled for {binding.get_host_cpu_name()}"
                yield Finding(name, told, reason=f"{size(used(folder))} in {place}")
            else:
                yield Finding(name, "none compiled yet", reason="each is compiled at its first use")


def _tried() -> Finding:
    """The log-partition of a short chain by its kernel, which is compiled now if need be, and by plain code."""
    import torch

    from regard.structures import LinearChain
    from regard.structures.kernels import plainly

    potentials = torch.arange(36, dtype=torch.float64).reshape(1, 4, 3, 3).sin()
    found = LinearChain(potentials).log_partition
    with plainly():
        expected = LinearChain(potentials).log_partition
    if torch.allclose(found, expected):
        return Finding("trial", "right", reason="the kernel of a linear chain agrees with plain code")
    reason = f"the kernel of a linear chain gives {found.item():.6g}, plain code {expected.item():.6g}"
    return Finding("trial", "wrong", "wrong", reason, "Report it, with this page.")


def functions() -> Iterator[Finding]:
    """Private functions of other packages: each is tried, and plain code does the work of those that fail."""
    from regard.private import feature_states

    for one in feature_states():
        if one.on:
            yield Finding(one.name)
        elif one.absent:
            yield Finding(one.name, state="off", reason=one.reason)
        else:
            fix = "Results are the same. Report it, with the versions on this page."
            yield Finding(one.name, state="wrong", reason=f"{one.reason}; {one.cost}", fix=fix)


def paths() -> Iterator[Finding]:
    """Faster ways to compute a call, and whether this machine has a device and the instructions for them."""
    import torch

    from regard.parts import names, part

    here = {"cpu", *(["cuda"] if torch.cuda.is_available() else [])}
    known = names("path")
    for name in known:
        made = part("path", name)
        devices = [DEVICES[one] for one in made.devices]
        told = f"{made.serves} on {' and '.join(devices)}"
        if not here & set(made.devices):
            yield Finding(name, told, "off", f"no {' or '.join(devices)} device here")
        elif lacking := made.machine_lacks():
            yield Finding(name, told, "off", lacking)
        else:
            yield Finding(name, told)
    if not known:
        yield Finding("none", "", "off", "the folder regard/fast is not here; everything is computed plainly")
