"""Recordings: functions as CUDA graphs, replayed without Python."""
