"""How the rows of a map over devices of several processes are shared among them.

Every process passes its own rows and gets its own results; the mapped axis has the rows of all, in
the order of the devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from plait.config import state
from plait.errors import ArgumentError, ShapeError
from plait.ops.across import Share


class Team:
    """The processes that devices belong to, this one among them."""

    def __init__(self, devices: Sequence[Any]):
        here = devices[0].client.process_index()
        runs = [list(run) for _, run in groupby(devices, lambda d: d.process_index)]
        members = [run[0].process_index for run in runs]
        if here not in members:
            raise ArgumentError(
                "none of the devices belongs to this process",
                op="pmap",
                devices=list(devices),
                this_process=here,
                fix="call it in the processes that the devices belong to",
            )
        if len(set(members)) != len(members):
            raise ArgumentError(
                "the devices of a process do not stand together",
                op="pmap",
                devices=list(devices),
                fix="sort them by device.process_index",
            )
        self.runs, self.place = runs, members.index(here)
        self.count, self.own = len(devices), tuple(runs[self.place])
        # Whether all bring equally many devices; else each device takes equally many rows.
        self.is_even = len({len(run) for run in runs}) == 1

    def all_rows(self, own: int) -> int:
        """The number of rows of all, if this process has so many. Raises ShapeError."""
        if self.is_even:
            return own * len(self.runs)
        if own % len(self.own):
            raise ShapeError(
                f"{own} rows do not spread evenly over the {len(self.own)} devices of this process",
                op="pmap",
                fix="where processes have different numbers of devices, give every device equally "
                "many rows",
            )
        return own // len(self.own) * self.count

    def own_rows(self, every: int) -> int:
        """The number of this process's rows of so many of all. Raises ShapeError."""
        parts = len(self.runs) if self.is_even else self.count
        if every % parts:
            raise ShapeError(
                f"the axis has the rows of all {len(self.runs)} processes: {every} do not spread "
                "evenly over them",
                op="pmap",
                devices=self.count,
                fix=f"a multiple of {parts} rows",
            )
        return every // parts * (1 if self.is_even else len(self.own))

    def share(self, every: int, axis: int | None) -> Share:
        """This process's share of an array with an axis of so many rows of all; without an axis
        all of it.
        """
        own = self.own_rows(every)
        before = sum(map(len, self.runs[: self.place]))
        start = own * self.place if self.is_even else own // len(self.own) * before
        shown = self.own[:own] if axis is not None else self.own
        share = Share(axis, start, start + own, every, self.devices(every), shown)
        return share if axis is not None else share.everywhere()

    def devices(self, every: int) -> tuple[Any, ...]:
        """The devices that compute, in the order of the axis.

        Where maps of a single process are computed as one program on one device (the fused form),
        here one device of each process computes all of its rows. The others are where they are
        shown.
        """
        if not self.is_even:
            return tuple(d for run in self.runs for d in run)
        fused = self.own[0].platform == "cpu" and state.pmap_form != "gang"
        each = 1 if fused else self.own_rows(every)
        return tuple(d for run in self.runs for d in run[:each])
