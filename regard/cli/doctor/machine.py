"""The machine: versions, devices, settings of the environment, folders and their sizes."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from regard.cli.doctor.finding import Finding, size
from regard.version import __version__

LIBRARIES = ("torch", "numba", "llvmlite", "triton", "numpy", "accelerate")
"""Libraries whose versions decide what is computed how."""
SETTINGS = (
    "REGARD_",
    "NUMBA_",
    "OMP_NUM",
    "MKL_NUM",
    "CUDA_VISIBLE",
    "TRITON_",
    "PYTORCH_",
    "TORCH_",
    "HF_HOME",
)
"""Beginnings of environment variables that change what regard does."""
SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD")
"""Parts of the names of variables whose value is nobody's business."""


def versions() -> Iterator[Finding]:
    yield _regard()
    yield Finding("Python", platform.python_version(), reason=platform.python_implementation())
    for name in LIBRARIES:
        try:
            yield Finding(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            reason = "comes with torch for CUDA" if name == "triton" else ""
            yield Finding(name, "not installed", "off" if reason else "wrong", reason, _install(name, reason))
    yield Finding("system", f"{platform.system()} {platform.release()}", reason=platform.machine())


def _regard() -> Finding:
    here = Path(__file__).parents[2]
    try:
        metadata.version("regard")
    except metadata.PackageNotFoundError:
        reason = f"not installed: Python finds it in {here}"
        return Finding("regard", __version__, "off", reason, f"To install it:  pip install {here.parent}")
    return Finding("regard", __version__, reason=str(here))


def _install(name: str, optional: str) -> str:
    return "" if optional else f"Run: pip install {name}"


def devices() -> Iterator[Finding]:
    import torch

    threads = torch.get_num_threads()
    told = f"{os.cpu_count()} cores, torch uses {threads} thread{'s' * (threads != 1)}"
    yield Finding("cpu", _processor(), reason=told)
    if torch.cuda.is_available():
        for place in range(torch.cuda.device_count()):
            about = torch.cuda.get_device_properties(place)
            told = f"{size(about.total_memory)}, compute capability {about.major}.{about.minor}"
            yield Finding(f"cuda:{place}", about.name, reason=told)
    elif torch.version.cuda is None:
        yield Finding("cuda", "none", "off", "this torch was built without CUDA")
    else:
        yield Finding(
            "cuda", "none", "off", f"torch was built for CUDA {torch.version.cuda} and finds no GPU"
        )
    if torch.backends.mps.is_available():
        yield Finding("mps", platform.machine(), reason="used only with --device mps")


def _processor() -> str:
    """LLVM's name of the processor that kernels are compiled for."""
    from llvmlite import binding  # type: ignore[import-untyped]

    return str(binding.get_host_cpu_name())


def settings() -> Iterator[Finding]:
    for name, value in sorted(os.environ.items()):
        if name.startswith(SETTINGS):
            hidden = any(word in name for word in SECRET)
            yield Finding(name, "(set)" if hidden else value)


def folders() -> Iterator[Finding]:
    from regard.storage.files import cache_folder

    yield _folder("cache", cache_folder(), "data sets and data packages; REGARD_CACHE moves it")
    yield _folder("runs", Path("runs"), "trained models; `regard train` makes it")


def _folder(name: str, path: Path, about: str) -> Finding:
    if not path.is_dir():
        return Finding(name, str(path), "off", f"not there yet; for {about}")
    if not os.access(path, os.W_OK):
        return Finding(
            name, str(path), "wrong", "it cannot be written", "Change its permissions, or set REGARD_CACHE."
        )
    return Finding(name, str(path), reason=f"{size(used(path))} of {about}")


def used(path: Path) -> int:
    """The bytes of all files below a folder; files that vanish or cannot be read do not count."""
    total = 0
    for here, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(here, name)).st_size
            except OSError:
                continue
    return total
