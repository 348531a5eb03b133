"""The aligners of bench/alignments.py against naive implementations, and its readers on damaged files."""

from __future__ import annotations

import gzip
import itertools
import math
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import RegardError
from regard.metrics.alignment import alignment_error_rate

BENCH = Path(__file__).parents[2] / "bench"
TINY = [
    (["das", "haus"], ["the", "house"]),
    (["das", "buch"], ["the", "book"]),
    (["ein", "buch"], ["a", "book"]),
    (["das", "ist", "ein", "haus"], ["this", "is", "a", "house"]),
]


@pytest.fixture(scope="module")
def bench(of_bench: Callable[[str], Any]) -> Any:
    return of_bench("aligners"), of_bench("alignments")


def naive_ibm1(pairs: list[Any], passes: int) -> dict[tuple[str, str], float]:
    """Brown et al. 1993, counted word by word; "" is the empty source word."""
    together = {(s, t) for source, target in pairs for t in target for s in ["", *source]}
    partners = defaultdict(set)
    for s, t in together:
        partners[s].add(t)
    table = {(s, t): 1 / len(partners[s]) for s, t in together}
    for _ in range(passes):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        for source, target in pairs:
            for t in target:
                whole = sum(table[s, t] for s in ["", *source])
                for s in ["", *source]:
                    counts[s, t] += table[s, t] / whole
                    totals[s] += table[s, t] / whole
        table = {(s, t): counts[s, t] / totals[s] for s, t in together}
    return table


def named_table(model: Any) -> dict[tuple[str, str], float]:
    """{(source word, target word): probability} of an aligner."""
    found = {}
    for bundle in model.corpus.bundles:
        for place, row in enumerate(bundle.rows):
            source, target = model.corpus.pairs[row]
            for t, word in enumerate(target):
                for s, other in enumerate([*source, ""]):
                    found[other, word] = float(model.table[bundle.entries[place, t, s]])
    return found


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_ibm1_is_the_naive_one(bench: Any, passes: int) -> None:
    aligners, _ = bench
    found = named_table(aligners.IBM1(aligners.Corpus.of(TINY, rows=2), passes))
    expected = naive_ibm1(TINY, passes)
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key], abs=1e-9) for key in expected)


def test_em_never_loses_likelihood_and_finds_the_words(bench: Any) -> None:
    aligners, _ = bench
    first = aligners.IBM1(aligners.Corpus.of(TINY), 20)
    second = aligners.HMM(first, 6, none=0.05)
    for model in (first, second):
        gains = [b - a for a, b in itertools.pairwise(model.log_likelihood)]
        assert all(gain > -1e-6 for gain in gains)
    assert aligners.IBM1(aligners.Corpus.of(TINY), 20).links()[1] >= {(0, 0)}
    assert second.links()[0] == {(0, 0), (1, 1)} and second.links()[2] == {(0, 0), (1, 1)}


def test_the_hmm_is_a_sum_over_all_alignments(bench: Any) -> None:
    """Likelihood and posteriors against enumeration of all paths, over positions and the empty word."""
    aligners, _ = bench
    model = aligners.HMM(aligners.IBM1(aligners.Corpus.of(TINY), 2), 2)
    for bundle in model.corpus.bundles:
        chain, _, _ = model.chain(bundle)
        likelihoods, marginals = chain.log_partition.tolist(), chain.marginals.tolist()
        for place, row in enumerate(bundle.rows):
            source, target = model.corpus.pairs[row]
            size, total = len(source), 0.0
            weights: dict[tuple[int, int], float] = defaultdict(float)
            for path in itertools.product(range(2 * size), repeat=len(target)):
                probability = 1.0
                for t, state in enumerate(path):
                    entry = bundle.entries[place, t, state if state < size else size]
                    said = float(model.table[entry])
                    if t == 0:
                        moved = (model.none if state >= size else 1 - model.none) / size
                    else:
                        before = path[t - 1] % size
                        jumps = [float(model.jumps[j - before + model.furthest]) for j in range(size)]
                        moved = model.none * (state % size == before)
                        if state < size:
                            moved = (1 - model.none) * jumps[state] / sum(jumps)
                    probability *= said * moved
                total += probability
                for t, state in enumerate(path):
                    weights[t, state] += probability
            assert likelihoods[place] == pytest.approx(math.log(total), abs=1e-5)
            for (t, state), weight in weights.items():
                assert marginals[place][t][state] == pytest.approx(weight / total, abs=1e-6)


def test_symmetrizing_keeps_what_both_say_and_grows_from_it(bench: Any) -> None:
    aligners, _ = bench
    forth, back = {(0, 0), (1, 1), (3, 3)}, {(0, 0), (1, 2), (5, 5)}
    found = aligners.symmetrized(forth, back)
    assert forth & back <= found <= forth | back
    assert (1, 1) in found  # in addition to (0, 0)
    assert aligners.diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)} and len(aligners.diagonal(2, 5)) == 5


def test_possible_links_count_as_och_and_ney_say(tmp_path: Path, bench: Any) -> None:
    _, alignments = bench
    (tmp_path / "x.src-tgt").write_text("a b c  ||| d e f\n１ 　 ２ ||| g h\n", encoding="utf-8")
    (tmp_path / "x.gold").write_text("1-1 2p2\n3-2\n", encoding="utf-8")
    gold = alignments.read_gold(tmp_path / "x.src-tgt", tmp_path / "x.gold")
    assert gold.pairs[1][0] == ["１", "\u3000", "２"]  # an ideographic space is a word
    assert gold.sure == [{(0, 0)}, {(2, 1)}] and gold.possible == [{(0, 0), (1, 1)}, {(2, 1)}]
    # A = {0-0, 1-1}, {2-0}: |A ∩ S| = 1, |A ∩ P| = 2, |A| = 3, |S| = 2
    score = alignment_error_rate([{(0, 0), (1, 1)}, {(2, 0)}], gold.sure, gold.possible)
    assert score.value == pytest.approx(1 - (1 + 2) / (3 + 2))


@pytest.mark.parametrize(
    ("texts", "links", "told"),
    [
        ("a b ||| c\n", "1-1\n2-1\n", "1 pairs and 2 lines of links"),
        ("a b | c\n", "1-1\n", "x.src-tgt:1"),
        ("a ||| c\n", "1:1\n", "x.gold:1"),
        ("a ||| c\nb ||| d\n", "1-1\n2-1\n", "the link 2-1 leaves the sentences"),
        ("a ||| c\n", "0-1\n", "Positions are from 1"),
    ],
)
def test_damaged_gold_is_named_with_its_place(
    texts: str, links: str, told: str, tmp_path: Path, bench: Any
) -> None:
    _, alignments = bench
    (tmp_path / "x.src-tgt").write_text(texts, encoding="utf-8")
    (tmp_path / "x.gold").write_text(links, encoding="utf-8")
    with pytest.raises(RegardError) as error:
        alignments.read_gold(tmp_path / "x.src-tgt", tmp_path / "x.gold")
    assert told in str(error.value)


def test_the_attention_of_a_run_is_read_word_by_word(tmp_path: Path, bench: Any) -> None:
    _, alignments = bench
    lines = [f"{' '.join(source)}\t{' '.join(target)}" for source, target in TINY * 8]
    (tmp_path / "pairs.tsv").write_text("\n".join(["source\ttarget", *lines]) + "\n", encoding="utf-8")
    spec = {
        "inputs": {"source": {"type": "text", "unit": "word"}},
        "outputs": {"target": {"type": "text", "unit": "word"}},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 8, "embedding": 8},
        "attention": {"score": "additive", "select": "softmax"},
        "decoder": {
            "type": "recurrent",
            "cell": "gru",
            "size": 8,
            "embedding": 8,
            "condition": ["start", "attention"],
        },
        "training": {"steps": 2, "batch_rows": 8, "metric": "loss"},
    }
    pairs = str(tmp_path / "pairs.tsv")
    model = regard.fit(pairs, dev=pairs, spec=spec, run=tmp_path / "run", quiet=True)
    model.save(tmp_path / "model")
    gold = alignments.Gold([(["Das", "Haus"], ["the", "house", "unseen"])], [{(0, 0)}], [{(0, 0)}])
    (links,) = alignments.attended(tmp_path / "model", gold, False)
    truth = model.score("das haus", "the house unseen").trace.attention["source"]
    assert links == {(int(truth[t].argmax()), t) for t in range(3)}
    (turned,) = alignments.attended(
        tmp_path / "model", alignments.Gold([(["the", "house"], ["das", "haus"])], [set()], [set()]), True
    )
    assert {s for s, _ in turned} == {0, 1}  # one link for each word that the model writes
    blank = alignments.Gold([(["das", "\u3000", "haus"], ["the", "house"])], [set()], [set()])
    assert len(alignments.attended(tmp_path / "model", blank, False)[0]) == 2


@pytest.mark.thorough
def test_pairs_are_written_with_the_golds_and_with_links_both_ways(tmp_path: Path) -> None:
    """The pairs and links of `--write --links`: the HMM has learned these few words from each other."""
    examples = tmp_path / "gold_alignments" / "examples"
    for folder in (examples, tmp_path / "tatoeba", tmp_path / "multi30k"):
        folder.mkdir(parents=True)
    (examples / "enfr.src-tgt").write_text("The House ||| la maison\n", encoding="utf-8")
    (examples / "enfr.gold").write_text("1-1 2-2\n", encoding="utf-8")
    said = ["the book\tle livre", "a book\tun livre", "a house\tune maison", "the house .\t. la maison"]
    with zipfile.ZipFile(tmp_path / "tatoeba" / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "\n".join(said * 3) + "\n")
    for language in ("en", "fr"):
        (tmp_path / "multi30k" / f"train.{language}.gz").write_bytes(gzip.compress(b"!\n"))
    written = tmp_path / "pairs.tsv"
    command = [
        sys.executable,
        str(BENCH / "alignments.py"),
        str(tmp_path),
        "--only",
        "enfr",
        "--passes",
        "20",
    ]
    command += ["--pairs", "100", "--write", str(written), "--links"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=BENCH.parent)
    assert ran.returncode == 0, ran.stderr
    head, *lines = [line.split("\t") for line in written.read_text(encoding="utf-8").splitlines()]
    assert head == ["source", "target", "alignment", "turned"]
    assert lines[0] == ["the house", "la maison", "0-0 1-1", "0-0 1-1"]  # the gold's, in lower case
    assert len(lines) == 1 + 12 + 1
    _, _, forth, turned = next(line for line in lines if line[0] == "the house .")
    assert "1-2" in forth.split() and "2-0" in forth.split()
    assert {tuple(one.split("-")) for one in forth.split()} == {
        tuple(one.split("-")[::-1]) for one in turned.split()
    }


def test_a_missing_folder_ends_with_2(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "alignments.py"), str(tmp_path), "--only", "enfr"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=BENCH.parent)
    assert ran.returncode == 2 and "Traceback" not in ran.stderr and "enfr.src-tgt" in ran.stderr
