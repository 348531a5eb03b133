"""Kernels in Triton."""
