"""Kernels compiled by numba."""
