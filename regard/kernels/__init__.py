"""Compiled code: recurrences with attention on CUDA. The plain code beside each kernel is its reference."""
