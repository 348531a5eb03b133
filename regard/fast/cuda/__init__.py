"""Kernels for CUDA: recurrences, attention, search, the optimizer."""
