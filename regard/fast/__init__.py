"""Faster ways to compute what `nn`, `model` and `training` do. Without this folder regard is only slower."""
