"""Reports of several sentences, one of which is news, and their headlines."""

from regard.worlds.reports.world import ReportsWorld

__all__ = ["ReportsWorld"]
