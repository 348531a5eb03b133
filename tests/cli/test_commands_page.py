from pathlib import Path

from regard.cli.reference import page


def test_the_page_of_commands_is_up_to_date() -> None:
    written = Path(__file__).parents[2] / "docs" / "commands.md"
    assert written.read_text(encoding="utf-8") == page(), (
        "run: python -m regard.cli.reference > docs/commands.md"
    )
