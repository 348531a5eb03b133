"""Answers to more rows than one process should hold: in shards, over many processes, resumable."""
