"""Skeleton files of MSR-Action3D (Li, Zhang, Liu 2010): 20 joints of a person in front of a depth camera.

A file is named aAA_sSS_eEE_skeleton.txt (action, subject, episode) and has a line for each joint of each frame:

    column of the pixel, row of the pixel, depth, confidence

The position of a joint follows from pixel and depth, up to the unit of the depth: x = (column − 160) · depth / 285,
y = (row − 120) · depth / 285, z = depth, where 285 pixels is the camera's focal length at 320 × 240. Frames without
a person (all numbers zero) are left out. Single missing joints (numbers of 2³¹) are interpolated from neighboring
frames.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

from regard.data.contents import Unreadable
from regard.data.ragged import Array

JOINTS, NUMBERS = 20, 4
MIDDLE, FOCAL = (160.0, 120.0), 285.0
FARTHEST = 5_000.0
"""Upper limit of valid pixel coordinates and depths."""
NAME = re.compile(r"a(\d+)_s(\d+)_e(\d+)_skeleton\.txt")


@dataclass(frozen=True)
class SkeletonName:
    """Action, subject and episode (repetition) of a file."""

    action: int
    subject: int
    episode: int

    @classmethod
    def of(cls, path: str) -> SkeletonName | None:
        """The parsed name; None if the file is not named this way."""
        found = NAME.fullmatch(os.path.basename(path))
        return None if found is None else cls(*map(int, found.groups()))


def joints_of(text: str, shown: str) -> Array:
    """(T, 20 · 3) float64: x, y, z of every joint.

    shown   how error messages refer to the file, after the name of its field: "names 'a01_s01_e01_skeleton.txt'"
    """
    try:
        numbers = np.array(text.split(), dtype=np.float64)
    except ValueError as error:
        raise Unreadable(f"{shown}, which is not a skeleton file ({error})") from None
    if not numbers.size or numbers.size % (JOINTS * NUMBERS):
        raise Unreadable(
            f"{shown}, a skeleton file of {numbers.size} numbers, expected {JOINTS} joints of {NUMBERS} numbers per "
            "frame"
        )
    joints = numbers.reshape(-1, JOINTS, NUMBERS)[..., :3]
    joints = joints[(joints != 0).any((1, 2))]
    if not len(joints):
        raise Unreadable(f"{shown}, a skeleton file whose frames show no person")
    return _placed(_complete(joints)).reshape(len(joints), -1)


def _complete(joints: Array) -> Array:
    """(T, 20, 3) with invalid numbers replaced by linear interpolation over time."""
    lost = ~(np.abs(joints) < FARTHEST)
    if not lost.any():
        return joints
    complete, times = joints.copy(), np.arange(len(joints))
    for joint, number in zip(*np.nonzero(lost.any(0)), strict=True):
        known = ~lost[:, joint, number]
        if known.any():
            complete[~known, joint, number] = np.interp(
                times[~known], times[known], joints[known, joint, number]
            )
        else:
            complete[:, joint, number] = 0.0
    return complete


def _placed(joints: Array) -> Array:
    """(T, 20, 3) from pixels and depth to positions in space."""
    depth = joints[..., 2:]
    return np.concatenate([(joints[..., :2] - MIDDLE) * depth / FOCAL, depth], -1)
