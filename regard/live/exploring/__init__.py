"""Loaded with the drawings: gives traces and predictions their live view."""
