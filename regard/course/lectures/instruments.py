"""Functions for the Python code of entries: small models, cells with their weights by letter, tiny trainings,
finite differences. All use public names, double precision and fixed seeds."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import zoo
from regard.course.lectures.boards import board
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import beside, frame
from regard.inspect.scene import Scene
from regard.model import Model, build
from regard.model.counting import parameter_counts
from regard.nn import Attention, Cell, Memory
from regard.nn.cells import make_cell
from regard.parts import find

__all__ = [
    "apart",
    "attend",
    "board",
    "built",
    "cell",
    "encoded",
    "letters",
    "logged",
    "looked_up",
    "numeric",
    "parameters",
    "potential_gradients",
    "printed_by",
    "random",
    "read_off",
    "some_rows",
    "taught",
    "teacher_forced",
    "trained",
    "trained_loop",
    "trained_on",
]

FEW = 6
"""Default number of rows of a world."""
DRAWN = 0.005
"""The spread of what `built` adds to parameters that begin as a constant."""

Array = NDArray[np.float64]


def random(*shape: int, seed: int = 0) -> Array:
    """Numbers drawn from a normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape)


def apart(one: Any, other: Any) -> float:
    """The largest difference between two arrays of one shape."""
    first, second = (
        np.asarray(value.detach() if isinstance(value, Tensor) else value, float) for value in (one, other)
    )
    if first.shape != second.shape:
        raise ValueError(f"the shapes {first.shape} and {second.shape} differ")
    return float(np.abs(first - second).max(initial=0.0))


def numeric(function: Callable[..., Any], *arguments: Any, step: float = 1e-5) -> list[Array]:
    """The gradient of a number with respect to each argument, by central differences."""
    arrays = [np.array(one, dtype=float) for one in arguments]
    found = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + step
            above = float(function(*arrays))
            array[place] = kept - step
            below = float(function(*arrays))
            array[place] = kept
            gradient[place] = (above - below) / (2 * step)
        found.append(gradient)
    return found


def cell(name: str, inputs: int, size: int, *, seed: int = 0, **options: Any) -> Cell:
    """A cell with random weights: cell("gru", 3, 4, reset="before")."""
    torch.manual_seed(seed)
    made = make_cell(find("cell", name).Options(**options), inputs, size).double()
    return made.requires_grad_(False)


def letters(made: Cell, gates: str) -> dict[str, Array]:
    """The weights by letter and gate: `Wr` of the input, `Ur` of the state, `br` both biases together."""
    found = {}
    parts = {"W": made.weight_ih, "U": made.weight_hh, "b": made.bias_ih + made.bias_hh}
    for letter, whole in parts.items():
        for gate, part in zip(gates, whole.chunk(len(gates)), strict=True):
            found[letter + gate] = part.detach().numpy()
    return found


def attend(
    query: Any, values: Any, *, score: str = "dot", select: str = "softmax", **weights: Any
) -> tuple[list[float], list[float]]:
    """Attention of one query over rows of values: (weights, context). Keywords such as `vector=` set
    parameters of the score."""
    memory_values = torch.as_tensor(np.asarray(values, float))[None]
    asked = torch.as_tensor(np.asarray(query, float))[None, None]
    torch.manual_seed(0)
    attention = Attention(asked.shape[-1], memory_values.shape[-1], score=score, select=select).double()
    with torch.no_grad():
        for name, value in weights.items():
            dict(attention.score.named_parameters())[name.replace("__", ".")].copy_(torch.as_tensor(value))
        mask = torch.ones(memory_values.shape[:2], dtype=torch.bool)
        look = attention(asked, Memory(memory_values, mask, memory_values.mean(1)))
    return look.weights[0, 0].tolist(), look.context[0, 0].tolist()


def looked_up(queries: Any, annotations: Any, title: str, **how: Any) -> Scene:
    """A figure of queries that look up annotations: the weights, and beside them the context of each query."""
    found = [attend(one, annotations, **how) for one in queries]
    rows, columns = (tuple(map(_vector, some)) for some in (queries, annotations))
    weights, contexts = (np.array([one[part] for one in found]) for part in (0, 1))
    places = tuple(str(place + 1) for place in range(contexts.shape[1]))
    names: dict[str, Any] = {"rows": rows, "row_name": "query", "numbers": True}
    blocks = [
        draw_matrix(
            Matrix(columns=columns, values=weights, title="weights", column_name="annotation", **names)
        ),
        draw_matrix(
            Matrix(columns=places, values=contexts, title="context", shades=np.zeros(contexts.shape), **names)
        ),
    ]
    return frame(beside(blocks, gap=24), title=title, description=f"{len(rows)} queries: weights, contexts.")


def _vector(values: Any) -> str:
    return f"({', '.join(f'{one:g}' for one in values)})".replace("-", "−")


def read_off(lines: Sequence[str], *begins: str) -> Array:
    """The vectors that lines of a lab print, (N, D): the numbers in the last brackets of each that begins so."""
    found = [line.rpartition("(")[2].rstrip(")") for one in begins for line in lines if line.startswith(one)]
    return np.array([[float(value.replace("−", "-")) for value in line.split(", ")] for line in found])


def some_rows(name: str, count: int = FEW, *settings: str) -> list[dict[str, Any]]:
    """The first rows of a system's world."""
    return [dict(row) for row in _world(name, count, settings)]


@cache
def _world(name: str, count: int, settings: tuple[str, ...]) -> list[Any]:
    spec = zoo.find(name, settings)
    provider = spec.data.provider
    if provider is None:
        raise ValueError(f"{name} has data of its own files")
    fields = type(provider).model_fields
    sizes = {key: count if key == "train" else 1 for key in ("train", "dev", "test", "long") if key in fields}
    changed = [f"data.{provider.kind}.{key}={value}" for key, value in sizes.items()]
    small = zoo.find(name, [*settings, *changed]).data.provider
    if small is None:
        raise ValueError(f"{name} has lost its world")
    return list(small.splits()["train"])[:count]


def built(
    name: str,
    *settings: str,
    rows: Sequence[Mapping[str, Any]] | None = None,
    count: int = FEW,
    seed: int = 0,
    drawn: bool = True,
) -> Model | Any:
    """An untrained system of the zoo, with vocabularies fitted to a few rows. Parameters that begin as a constant, such
    as the zeros of a bias, are drawn, unless `drawn` is false: at zero, a term of an equation could be left out
    unnoticed."""
    torch.manual_seed(seed)
    made = build(zoo.find(name, settings), rows=rows or some_rows(name, count, *settings))
    made.network.double().eval().requires_grad_(False)
    draws = torch.Generator().manual_seed(seed)
    for part in made.network.parameters():
        if drawn and part.numel() and bool((part == part.flatten()[0]).all()):
            part += DRAWN * torch.randn(part.shape, generator=draws, dtype=part.dtype)
    return made


def parameters(name: str, *settings: str) -> dict[str, str]:
    """The number of parameters of each part, with vocabulary sizes as V(…)."""
    return parameter_counts(zoo.find(name, settings), None)[0]


def encoded(model: Model, row: Mapping[str, Any]) -> dict[str, Memory]:
    """The memories that the encoders make of one row."""
    with torch.no_grad():
        return model.network.encode(_batch(model, row))


def teacher_forced(model: Model, row: Mapping[str, Any]) -> float:
    """The teacher-forced loss of one row: the mean of −log p(y_t | y_<t, x) over t."""
    with torch.no_grad():
        (loss,) = model.network(_batch(model, row)).values()
    return float(loss.mean)


def potential_gradients(model: Model | Any, row: Mapping[str, Any]) -> tuple[Array, Array]:
    """Of a translation with structured attention, (T, S) each: the marginals that the decoder reads at each step, and
    the gradient of the teacher-forced loss by the potentials e_tj, through the marginals."""
    kept: list[tuple[Tensor, Tensor]] = []

    def keep(_: Any, given: Any, found: Tensor) -> None:
        kept.append((given[0], found))
        given[0].retain_grad()

    decoder: Any = model.network.decoders["target"]
    hook = decoder.reading.attentions["source"].select.register_forward_hook(keep)
    model.network.requires_grad_(True)
    (loss,) = model.network(_batch(model, row)).values()
    loss.mean.backward()
    model.network.requires_grad_(False)
    hook.remove()
    gradients = [cast(Tensor, scores.grad)[0] for scores, _ in kept]
    return torch.cat([found[0] for _, found in kept]).detach().numpy(), torch.cat(gradients).numpy()


def _batch(model: Model, row: Mapping[str, Any]) -> Any:
    return next(iter(model.batches([row], batch_rows=1).epoch(0)))


def trained(name: str, *settings: str) -> Model | Any:
    """A system trained as by `regard train`, in a temporary folder."""
    return _run(name, settings)[0]


def logged(name: str, *settings: str) -> list[dict[str, str]]:
    """The rows of log.csv of a training as in `trained`."""
    return _run(name, settings)[1]


@cache
def _run(name: str, settings: tuple[str, ...]) -> tuple[Model | Any, list[dict[str, str]]]:
    from regard.fitting.experiment import Experiment

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        run = Path(folder) / "run"
        made = Experiment(zoo.find(name, settings), run, device="cpu", quiet=True).train()
        made.folder = None
        with (run / "log.csv").open(encoding="utf-8", newline="") as file:
            return made, list(csv.DictReader(file))


def trained_on(text: str, name: str, *settings: str) -> Model | Any:
    """A language model of the zoo trained on a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8")
        return trained(
            name,
            "data.package=null",
            f"data.train={path}",
            f"data.dev={path}",
            f"data.test={path}",
            *settings,
        )


def taught(
    name: str, *settings: str, rows: Sequence[Mapping[str, Any]], steps: int = 100, lr: float = 0.02
) -> Model | Any:
    """A system that `regard train` has trained on a few rows, each of texts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return trained(
            name,
            f"data={{train: {path}, dev: {path}, test: {path}}}",
            *("training.epochs=null", f"training.steps={steps}", f"training.evaluate_every={steps}"),
            *(f"training.lr={lr}", "training.schedule.warmup=10"),
            *settings,
        )


def trained_loop(
    model: Model, rows: Sequence[Mapping[str, Any]], *, updates: int = 100, lr: float = 0.01
) -> Model:
    """A model trained on a few rows by an explicit training loop."""
    model.network.float().train().requires_grad_(True)
    optimizer = torch.optim.Adam(model.network.parameters(), lr=lr)
    batches = model.batches(rows, batch_rows=len(rows), seed=1)
    for update in range(updates):
        for batch in batches.epoch(update):
            losses = model.network(batch)
            optimizer.zero_grad()
            cast(Tensor, sum(loss.weight * loss.mean for loss in losses.values())).backward()
            optimizer.step()
    return model.eval()


def printed_by(program: str) -> list[str]:
    """The lines that a slide's program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})  # the programs of the slides, written in the deck
    return out.getvalue().splitlines()
