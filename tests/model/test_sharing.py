"""A model pushed to a folder answers as before; its card is complete; runs are listed with scores."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.cli import main
from regard.runs.sharing import push
from regard.storage.hub import fetched
from tests.model.small import build, spec

SOURCES = (("train", "pairs.jsonl"), ("dev", "set aside from train"))
PAIRS = [(f"{a}{b}", f"{a.upper()} {b.upper()}") for a in "abcdefg" for b in "abcdefg"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "letters"
    regard.fit(
        PAIRS, run=folder, encoder={"size": 4}, decoder={"size": 4}, search={"method": "greedy", "max_length": 4},
        training={"steps": 6, "evaluate_every": 2}, device="cpu", quiet=True, test=PAIRS[:9], name="letters <b>",
    )  # fmt: skip
    return folder


def test_a_model_goes_to_a_folder_and_comes_back(run: Path, tmp_path: Path) -> None:
    named = push(run, f"folder:{tmp_path / 'shared'}")
    shared = regard.load(named, device="cpu")
    assert shared.predict("ab").score == regard.load(run, device="cpu").predict("ab").score
    names = {path.name for path in (tmp_path / "shared").iterdir()}
    assert "model.safetensors" in names and "pairs.jsonl" not in names and "state" not in names
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "card.md").write_text("mine")
    with pytest.raises(RegardError, match="regard did not write it"):
        push(run, f"folder:{tmp_path / 'mine'}")


def test_no_row_and_no_local_folder_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training and dev text is searched for in every file, and so is every folder of this machine."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home" / "secret"
    home.mkdir(parents=True)
    rows = [
        (f"the {a} {b} sat", f"{b} {a} Xy")
        for a in ("red", "old", "big")
        for b in ("cat", "dog", "cow", "hen", "pig", "fox")
    ]
    for name, some in (("train", rows[:12]), ("dev", rows[12:14]), ("test", rows[14:])):
        (home / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in some))
    (home / "vectors.txt").write_text("cat 1 2 3 4\ndog 4 3 2 1\n")
    first = tmp_path / "runs" / "first"
    settings = {"encoder": {"size": 4, "embedding": {"vectors": str(home / "vectors.txt")}}, "decoder": {"size": 4},
                "search": {"max_length": 4}, "device": "cpu", "quiet": True}  # fmt: skip
    for run, more in ((first, {}), (tmp_path / "runs" / "second", {"start_from": first})):
        regard.fit(
            str(home / "train.tsv"), dev=str(home / "dev.tsv"), test=str(home / "test.tsv"), run=run,
            training={"steps": 1}, inputs={"source": {"unit": "word"}}, **settings, **more,
        )  # fmt: skip
    kept = (tmp_path / "runs" / "second" / "card.md").read_text()
    assert "the big hen sat" in kept  # the run itself keeps its examples
    named = push(tmp_path / "runs" / "second", f"folder:{tmp_path / 'out'}")
    files = [path for path in Path(named).rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"model.safetensors", "card.md", "metrics.json", "spec.yaml"}
    secrets = [text for row in rows for text in row] + [
        str(home),
        str(tmp_path),
        str(Path.home()) + "/",
        "secret",
    ]
    for path in files:
        content = path.read_bytes()
        assert not [text for text in secrets if text.encode() in content], path
    mine, shared = regard.load(tmp_path / "runs" / "second", device="cpu"), regard.load(named, device="cpu")
    assert shared.predict("the old cow sat").score == mine.predict("the old cow sat").score
    assert shared.spec.data.train == ("train.tsv",) and shared.metrics["scores"] == mine.metrics["scores"]
    assert regard.load(push(named, f"folder:{tmp_path / 'again'}"), device="cpu").spec == shared.spec


def test_a_class_that_looks_like_a_path_is_shared_as_it_is(tmp_path: Path) -> None:
    here = str(tmp_path / "there.txt")
    Path(here).write_text("x")
    pairs = [(f"{word} {n}", here if n % 2 else "/b/") for word in "abc" for n in range(8)]
    model = regard.fit(
        pairs, run=tmp_path / "run", encoder={"size": 4}, training={"steps": 1}, device="cpu", quiet=True,
        outputs={"target": {"type": "label", "classes": [here, "/b/"]}},
    )  # fmt: skip
    shared = regard.load(push(tmp_path / "run", f"folder:{tmp_path / 'out'}"), device="cpu")
    assert shared.predict("a 1").probabilities == model.predict("a 1").probabilities


@pytest.mark.parametrize("target", ["g2p", "a/b/c", "/tmp/x", "hf:x"])
def test_what_is_no_repository_is_refused(run: Path, target: str) -> None:
    with pytest.raises(RegardError, match="expected owner/name or folder:PATH"):
        push(run, target)


def test_a_file_is_not_a_folder_to_share_to(run: Path, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("mine")
    with pytest.raises(RegardError, match=r"words\.tsv: this is a file, expected a folder"):
        push(run, f"folder:{tmp_path / 'words.tsv'}")
    assert (tmp_path / "words.tsv").read_text() == "mine"


def test_the_hub_is_asked_by_name(monkeypatch: pytest.MonkeyPatch, run: Path, tmp_path: Path) -> None:
    """The two functions that access the Hub, replaced by a folder."""
    hub = tmp_path / "hub"

    def upload(folder: Path, repository: str, *, private: bool) -> None:
        push(folder, f"folder:{hub / repository}")
        (hub / repository / "README.md").write_bytes((folder / "README.md").read_bytes())

    monkeypatch.setattr("regard.runs.sharing.upload", upload)
    monkeypatch.setattr("regard.storage.hub.download", lambda name, revision: hub / name)
    assert push(run, "me/letters") == "hf:me/letters"
    readme = (hub / "me" / "letters" / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("---\nlibrary_name: regard") and 'regard.load("hf:me/letters")' in readme
    pushed, loaded = (regard.load(one, device="cpu").predict("ab") for one in (run, "hf:me/letters"))
    assert (loaded.text, loaded.score) == (pushed.text, pushed.score)
    assert fetched("hf:me/letters@main") == hub / "me" / "letters"


def test_without_a_network_the_hub_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fails(*_: object, **__: object) -> str:
        raise ConnectionError("no route to host\nmore")

    monkeypatch.setattr(hub, "snapshot_download", fails)
    with pytest.raises(
        RegardError, match="Could not load the model from the Hugging Face Hub: no route to host"
    ):
        regard.load("hf:me/letters")


def test_a_card_tells_data_sizes_signatures_curve_and_examples(run: Path) -> None:
    card = (run / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# letters \\<b\\>\n")
    assert "- reads source: text by char, " in card and " in the vocabulary" in card
    train, dev = (re.search(rf"\| {part} \| (\d+) \| {source} \|", card) for part, source in SOURCES)
    assert train and dev and int(train[1]) + int(dev[1]) == len(PAIRS)
    assert "| test | 9 | test.jsonl |" in card
    assert "encoder of source" in card and "parameters" in card
    assert "| test | token\\_error | " in card and "signature" in card
    assert "dev loss from step 2 to 6:" in card and any(block in card for block in "▁▂▃▄▅▆▇█")
    assert re.search(r"## Examples\n\n.*\n.*\n\| [✓✗] \| aa \| .* \| A A \|", card)
    assert 'regard.load("this folder")' in card


def test_runs_are_listed_with_their_scores(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def listed(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["regard", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        found = capsys.readouterr()
        return code, found.out, found.err

    code, out, _ = listed("runs", str(run.parent))
    assert code == 0 and str(run) in out and "test: token_error " in out and " 6 " in out
    code, _, err = listed("runs", str(tmp_path))
    assert code == 2 and "there is no run here" in err
    code, out, _ = listed("list")
    assert code == 0
    groups = [
        line for line in out.splitlines() if "→" in line and not line.startswith(" ") and "g2p" not in line
    ]
    assert any(line.strip() == "image → text" for line in groups)
    assert out.index("image → text") < out.index("caption-hard") < out.index("text → text") < out.index("g2p")


def test_a_run_is_not_shared_onto_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared copy has no rows; the run would lose its own."""
    monkeypatch.chdir(tmp_path)
    build(spec()).save("run")
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    for target in ("run", "./run", str(tmp_path / "run")):
        with pytest.raises(RegardError, match="the folder of the run itself"):
            push("run", f"folder:{target}")
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before
