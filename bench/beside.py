"""Time two programs against each other: one process per round, rounds in turn, ratios of medians.

A benchmark supplies the work of each side; this module supplies the clock, the processes, the table and the
exit status. Other programs on the machine slow the wall clock of both sides alike and hardly affect CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from written import add_options, check, write_json

Rates = dict[str, dict[str, float]]
"""{task: {clock: units of work per second}}"""
CLOCKS = ("wall", "cpu")
WARM_UP = 5


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(work: Iterable[Callable[[], int]], warm_up: int) -> dict[str, float]:
    """Units of work per second, without the first `warm_up` pieces."""
    done = 0
    clock, processor = time.perf_counter(), processor_seconds()
    for index, piece in enumerate(work):
        if index == warm_up:
            done, clock, processor = 0, time.perf_counter(), processor_seconds()
        done += piece()
    return {"wall": done / (time.perf_counter() - clock), "cpu": done / (processor_seconds() - processor)}


def our_rates(
    encoder: Any,
    decoder: Any,
    train: Any,
    test: Any,
    options: argparse.Namespace,
    *,
    rows: int,
    length: int,
    counted: Callable[[Any, Any], int],
) -> Rates:
    """Rates of our training steps, and of our search for texts of exactly `length` units with END.

    counted   units of work in a step, given its batch and its loss
    """
    import torch

    from regard.data import Batches
    from regard.nn.search import Beam, Greedy, Limits

    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)

    def learn(batch: Any) -> int:
        loss = decoder.loss({"src": encoder(batch["src"])}, batch["trg"])
        loss.mean.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad()
        return counted(batch, loss)

    batches = Batches(train, rows=rows, seed=1).epoch(0)
    work = (lambda: learn(next(batches)) for _ in range(WARM_UP + options.steps))
    rates = {"train": timed(work, WARM_UP)}
    encoder.eval()
    decoder.eval()
    limits = Limits(minimum=length - 1, maximum=length - 1)
    for name, search in (("greedy", Greedy(limits)), ("beam 5", Beam(5, limits=limits))):
        batches = Batches(test, rows=rows, shuffle=False).epoch(0)

        def write(batch: Any, search: Any = search) -> int:
            with torch.inference_mode():
                found = decoder.predict({"src": encoder(batch["src"])}, search)
            return len(found.tokens)

        rates[name] = timed((lambda: write(next(batches)) for _ in range(1 + options.decode // rows)), 1)  # noqa: B023
    return rates


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that all such benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    add_options(parser)
    parser.add_argument("--peer-python", help="the interpreter of the peer's virtual environment")
    parser.add_argument("--make-peer", type=Path, help="make that virtual environment in a folder, and stop")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60, help="training steps of a round")
    parser.add_argument("--decode", type=int, default=512, help="sequences to decode in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="the clock of the bars; default: wall"
    )
    parser.add_argument("--role", choices=("ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    return parser


def same_torch() -> list[str]:
    """Arguments of pip that install the version of torch that our side runs with."""
    import torch

    version = str(torch.__version__)
    _, _, build = version.partition("+")  # such as cpu or cu126, which PyPI does not have
    found = ["--extra-index-url", f"https://download.pytorch.org/whl/{build}"] if build else []
    return [f"torch=={version}", *found]


def make_environment(folder: Path, *steps: Sequence[str]) -> None:
    """Create a virtual environment and run pip install once for each of `steps`."""
    commands = [[sys.executable, "-m", "venv", str(folder)]]
    commands += [[str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *step] for step in steps]
    for command in commands:
        if code := subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {code}. The reason is above.")


def check_peer(parser: argparse.ArgumentParser, python: str, module: str) -> None:
    """Exit with status 2 if the interpreter does not run or does not have the peer."""
    remedy = "Give PEER/bin/python of an environment that --make-peer PEER made."
    try:
        done = subprocess.run([python, "-c", f"import {module}, torch"], capture_output=True, text=True)
    except OSError as error:
        parser.error(f"--peer-python: {python} cannot be run: {error.strerror}. {remedy}")
    if done.returncode:
        *_, reason = ["no message", *done.stderr.strip().splitlines()]
        parser.error(f"--peer-python: {python} cannot import {module} and torch: {reason}. {remedy}")


def _measure(
    script: str, python: str, role: str, folder: Path, options: argparse.Namespace
) -> tuple[str, Rates]:
    """Run one round in a separate process with the same options; its last line of output is the result: the
    version of torch, and the rates."""
    passed = [argument for argument in sys.argv[1:] if argument]
    command = [python, script, *passed, "--role", role, "--data", str(folder)]
    threads = {name: str(options.threads) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **threads}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The {role} side failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    version, rates = json.loads(done.stdout.strip().splitlines()[-1])
    return version, rates


def _medians(rounds: Sequence[Rates]) -> Rates:
    return {
        task: {clock: median(found[task][clock] for found in rounds) for clock in CLOCKS}
        for task in rounds[0]
    }


def _report(ours: Rates, peer: Rates, name: str, bars: Mapping[str, float], units: Mapping[str, str]) -> None:
    print(f"{'':8} {'per':14} {'clock':>5} {'ours':>9} {name:>9} {'ratio':>6} {'bar':>5}")
    for task, bar in bars.items():
        for clock in CLOCKS:
            mine, other = ours[task][clock], peer[task][clock]
            row = f"{task:8} {units[task]:14} {clock:>5} {mine:9.1f} {other:9.1f} {mine / other:6.2f} {bar:5.1f}"
            print(row, flush=True)


def _report_versions(versions: Mapping[str, str], name: str) -> None:
    print(f"torch: {versions['ours']} (ours), {versions['peer']} ({name})", flush=True)
    if versions["ours"] != versions["peer"]:
        print(
            "The versions differ, and so do their speeds. Make the peer's environment anew with --make-peer."
        )


def compare(
    parser: argparse.ArgumentParser,
    script: str,
    *,
    peer_name: str,
    peer_module: str,
    bars: Callable[[argparse.Namespace], Mapping[str, float]],
    units: Mapping[str, str],
    make_peer: Callable[[Path], None],
    make_data: Callable[[Path], None],
    run_ours: Callable[[Path, argparse.Namespace], Rates],
    run_peer: Callable[[Path, argparse.Namespace], Rates],
) -> int:
    """Return the exit status: 1 if a ratio of medians misses its bar by the chosen clock."""
    options = parser.parse_args()
    if options.make_peer:
        make_peer(options.make_peer)
        return 0
    if options.role:
        import torch

        torch.set_num_threads(options.threads)
        run = run_ours if options.role == "ours" else run_peer
        print(json.dumps([str(torch.__version__), run(options.data, options)]))
        return 0
    if not options.peer_python:
        parser.error("give --peer-python, or make the peer's environment first with --make-peer DIR")
    check(parser, {"--json": options.json}, overwrite=options.overwrite)
    check_peer(parser, options.peer_python, peer_module)
    pythons = {"peer": options.peer_python, "ours": sys.executable}
    versions: dict[str, str] = {}
    rounds: dict[str, list[Rates]] = {role: [] for role in pythons}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_data(folder)
        for _ in range(options.rounds):
            for role, python in pythons.items():
                versions[role], rates = _measure(script, python, role, folder, options)
                rounds[role].append(rates)
    ours, peer = _medians(rounds["ours"]), _medians(rounds["peer"])
    wanted = bars(options)
    _report_versions(versions, peer_name)
    _report(ours, peer, peer_name, wanted, units)
    ratios = {task: {clock: ours[task][clock] / peer[task][clock] for clock in CLOCKS} for task in wanted}
    missed = [task for task, bar in wanted.items() if ratios[task][options.clock] < bar]
    result: dict[str, Any] = {"ours": ours, "peer": peer, "ratios": ratios, "bars": dict(wanted)}
    result |= {"clock": options.clock, "missed": missed, "rounds": rounds, "torch": versions}
    write_json(options.json, result)
    if missed:
        print(f"Missed by the {options.clock} clock: {', '.join(missed)}.")
    return 1 if missed else 0
