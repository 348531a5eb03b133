"""Kernels for the CPU: recurrences, attention, search."""
