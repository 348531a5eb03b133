"""Skeleton files of MSR-Action3D (Li, Zhang, Liu 2010): 20 joints of a person in front of a depth camera.

A file is named aAA_sSS_eEE_skeleton.txt (action, subject, episode) and has a line for each joint of each frame:

    column of the pixel, row of the pixel, depth, confidence

From pixel and depth follows where the joint is, up to the unit of the depth: x = (column − 160) · depth / 285,
y = (row − 120) · depth / 285, z = depth, 285 pixels being the camera's focal length at 320 × 240. Frames in which the
camera had lost the person (all numbers zero) are left out; single joints it had lost (numbers of 2³¹) are drawn in from
the frames around.
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
"""No pixel and no depth is beyond it."""
NAME = re.compile(r"a(\d+)_s(\d+)_e(\d+)_skeleton\.txt")


@dataclass(frozen=True)
class SkeletonName:
    """Who does what in a file, for the how-manieth time."""

    action: int
    subject: int
    episode: int

    @classmethod
    def of(cls, path: str) -> SkeletonName | None:
        """None where the file is not named so."""
        found = NAME.fullmatch(os.path.basename(path))
        return None if found is None else cls(*map(int, found.groups()))


def joints_of(text: str, shown: str) -> Array:
    """(T, 20 · 3) float64: x, y, z of every joint.

    shown   how a message names the file, after the name of its field: "names 'a01_s01_e01_skeleton.txt'"
    """
    try:
        numbers = np.array(text.split(), dtype=np.float64)
    except ValueError as error:
        raise Unreadable(f"{shown}, which is no skeleton file ({error})") from None
    if not numbers.size or numbers.size % (JOINTS * NUMBERS):
        raise Unreadable(
            f"{shown}, a skeleton file of {numbers.size} numbers, expected {JOINTS} joints of {NUMBERS} numbers a frame"
        )
    joints = numbers.reshape(-1, JOINTS, NUMBERS)[..., :3]
    joints = joints[(joints != 0).any((1, 2))]
    if not len(joints):
        raise Unreadable(f"{shown}, a skeleton file in whose frames nobody is seen")
    return _placed(_complete(joints)).reshape(len(joints), -1)


def _complete(joints: Array) -> Array:
    """(T, 20, 3) without the numbers that cannot be: a straight line between those before and after."""
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
    """(T, 20, 3) from pixels and depth to places."""
    depth = joints[..., 2:]
    return np.concatenate([(joints[..., :2] - MIDDLE) * depth / FOCAL, depth], -1)
