"""Run folders: where a run lives, what may be replaced in it, and how it is shared."""
