"""Kernels compiled by Triton."""
