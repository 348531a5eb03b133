"""Reports: one self-contained page about a run, or about several side by side."""

__all__: list[str] = []
