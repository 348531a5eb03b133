"""Times exact inference beside torch-struct 0.5 and pytorch-crf, and checks the fast kernels.

Install the peers with `pip install --no-deps --target local/peers torch-struct pytorch-crf`. Then

- `python bench/structures.py --peers local/peers`: the table; exit status 1 if a bar is missed
- `--check`: first compare the kernels with double precision, with holes and ragged lengths
- `--scaling`: also measure growth with the length, with fitted exponents and a figure
- `--tune`: also time other tile sizes and warps of the CUDA kernels

"forward" computes the marginals; "forward+backward" also backpropagates a given random gradient through them.
The two sides alternate in one process. Both warm up before the first turn, and each turn begins with 20 ms of
calls that are not measured. Times are wall times between synchronizations, the minimum over all tries, since
other load on a machine only adds to them. Both sides have equally many tries: ten if one of them takes longer
than 50 ms, more otherwise. The JSON also has the medians, which vary by half from run to run on a shared machine. The
ratio of CPU times is printed for information only. Peak memory is the memory of a call beyond its inputs.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from structures_cases import CASES, Case, ours, theirs
from structures_timing import alternating, launches, peak_memory, usable
from written import parse, write_json


def measure(case: Case, device: str, repeats: int, peers: bool) -> list[dict[str, Any]]:
    sides = {"ours": ours(case, device), **({"theirs": theirs(case, device)} if peers else {})}
    rows = []
    for mode in ("forward", "forward+backward"):
        calls = {
            name: (side.forward if mode == "forward" else side.forward_backward)
            for name, side in sides.items()
        }
        row: dict[str, Any] = {
            "case": case.name,
            "mode": mode,
            "bar": case.bar if mode != "forward" else None,
        }
        for name, call in calls.items():
            call()
            row[f"{name}_gib"] = peak_memory(call, device)
        for name, times in alternating(calls, device, repeats).items():
            wall, cpu = ([pair[i] for pair in times] for i in (0, 1))
            row[f"{name}_ms"], row[f"{name}_cpu_ms"] = min(wall), min(cpu)
            row[f"{name}_median_ms"] = statistics.median(wall)
        if device == "cuda":
            row["launches"] = launches(calls["ours"])
        if peers:
            row["ratio"] = row["theirs_ms"] / row["ours_ms"]
            row["cpu_ratio"] = row["theirs_cpu_ms"] / max(row["ours_cpu_ms"], 1e-6)
        row["ok"] = verdict(row, case)
        rows.append(row)
        print(line(row), flush=True)
    return rows


def verdict(row: dict[str, Any], case: Case) -> bool:
    if row["bar"] is None or "ratio" not in row:
        return True
    light = case.most_memory is None or row["ours_gib"] <= case.most_memory
    return bool(row["ratio"] >= row["bar"] and light)


def line(row: dict[str, Any]) -> str:
    def number(key: str, form: str) -> str:
        return format(row[key], form) if row.get(key) is not None else "-"

    compared = row.get("bar") is None or "ratio" in row
    judgement = "MISSED" if not row["ok"] else "ok" if compared else "not compared"
    return (
        f"{row['case']:<26}{row['mode']:<18}{number('ours_ms', '.3f'):>10}{number('theirs_ms', '.2f'):>10}"
        f"{number('ratio', '.1f'):>8}{number('cpu_ratio', '.1f'):>8}{number('bar', '.1f'):>7}"
        f"{number('ours_gib', '.4f'):>9}{number('theirs_gib', '.3f'):>9}{number('launches', 'd'):>5}"
        f"  {judgement}"
    )


HEADER = (
    f"{'case':<26}{'mode':<18}{'ours ms':>10}{'theirs':>10}{'ratio':>8}{'by CPU':>8}{'bar':>7}"
    f"{'GiB':>9}{'theirs':>9}{'runs':>5}"
)


def table(device: str, repeats: int, peers: bool, only: str) -> list[dict[str, Any]]:
    print(HEADER)
    rows: list[dict[str, Any]] = []
    for case in (case for case in CASES[device] if only in case.name):
        try:
            rows += measure(case, device, repeats, peers)
        except Exception:
            print(f"{case.name:<26}FAILED")
            print("".join(traceback.format_exc(limit=-4)), flush=True)
            rows.append({"case": case.name, "ok": False, "error": traceback.format_exc(limit=-4)})
            if not usable(device):
                break
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--peers", type=Path, help="folder with torch_struct and torchcrf, put on the path")
    parser.add_argument(
        "--repeats", type=int, default=15, help="rounds of five tries; five of two for slow calls"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare the kernels with double precision first"
    )
    parser.add_argument("--scaling", action="store_true", help="also measure growth with the length")
    parser.add_argument("--tune", action="store_true", help="also try other tiles for the CUDA kernels")
    parser.add_argument("--only", default="", help="only cases and checks whose name contains this")
    parser.add_argument("--no-table", action="store_true", help="skip the table of cases")
    options = parse(parser)
    if options.peers:
        sys.path.insert(0, str(options.peers))
    sys.path.insert(0, str(Path(__file__).parent))
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    try:
        import torch_struct  # noqa: F401
        import torchcrf  # noqa: F401

        peers = True
    except ImportError as error:
        if options.peers:
            parser.error(
                f"--peers {options.peers}: {error}. Install the peers there:  "
                f"pip install --no-deps --target {options.peers} torch-struct pytorch-crf"
            )
        print(
            f"Without peers ({error}): pip install --no-deps --target DIR torch-struct pytorch-crf, then --peers DIR."
        )
        peers = False
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
    report: dict[str, Any] = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": where,
    }
    print(" · ".join(str(value) for value in report.values()))
    if options.check:
        from structures_checks import check

        report["check"] = check(options.device, options.only)
        write_json(options.json, report)  # after every stage, so that a crash in the next loses nothing
    if not options.no_table and usable(options.device):
        report["table"] = table(options.device, options.repeats, peers, options.only)
        write_json(options.json, report)
    if options.tune and options.device == "cuda" and usable(options.device):
        from structures_tuning import tune

        report["tune"] = tune()
    if options.scaling and usable(options.device):
        from structures_scaling import scaling

        report["scaling"] = scaling(options.device)
    write_json(options.json, report)
    return 0 if all(row["ok"] for key in ("check", "table", "scaling") for row in report.get(key, [])) else 1


if __name__ == "__main__":
    sys.exit(main())
