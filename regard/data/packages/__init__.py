"""Packages: data that come with installable Python packages. Each file holds one and registers it."""

from regard.data.packages.package import Package, package

__all__ = ["Package", "package"]
