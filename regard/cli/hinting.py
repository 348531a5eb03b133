"""A command that says where an unknown option belongs in the spec."""

from __future__ import annotations

from typing import Any

import typer.core


class HintingCommand(typer.core.TyperCommand):
    """For an option that does not exist, names the settings of this name: --dropout is --set encoder.dropout=…"""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The class of the error belongs to click, or to typer's own copy of it.
            hint = self._hint(error.option_name) if type(error).__name__ == "NoSuchOption" else ""  # type: ignore[attr-defined]
            if hint:
                error.message, error.possibilities = f"{error.message}{hint}", []  # type: ignore[attr-defined]
            raise

    def _hint(self, option: str) -> str:
        from regard.spec.keys import paths_of

        takes_settings = any("--set" in parameter.opts for parameter in self.params)
        found = paths_of(option.lstrip("-").replace("-", "_")) if takes_settings else []
        return f". Use {' or '.join(f'--set {path}=VALUE' for path in found)}" if found else ""
