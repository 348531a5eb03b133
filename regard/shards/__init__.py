"""Answers to more rows than one process should hold: in shards, over many processes, resumable.

    regard.shards.predict_files("runs/g2p", ["words/*.parquet"], "out", shard="2/8")

files       what is read: patterns, folders and URLs → files in order; a shard of them
reading     a file → its parts, some thousand rows each; a bad row keeps its place
predictor   a part, or a batch of someone else's pipeline → answers
writing     answers → the bytes of a file
folder      the output: parts, rejected rows, and the manifest by which a shard is resumed
job         what all processes of a job share; reading, answering and writing one part
predicting  all of it, with an engine
ray         the engine on a Ray cluster
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.shards.job import Event, FileEnd, FileStart, FileWork, PartAnswers, ShardJob
    from regard.shards.predicting import Engine, Summary, plain, predict_files
    from regard.shards.predictor import BatchPredictor
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BatchPredictor",
    "Engine",
    "Event",
    "FileEnd",
    "FileStart",
    "FileWork",
    "PartAnswers",
    "ShardJob",
    "Summary",
    "plain",
    "predict_files",
]
