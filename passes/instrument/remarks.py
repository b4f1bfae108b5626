"""What probing passes say where they leave something alone."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.remark import Kind, Remark


def decline(op: ir.Operation, subject: str, reason: str) -> None:
    """A coverage remark at `op`: `subject` is the export or module that the remark is about."""
    Remark(
        kind=Kind.ANALYSIS,
        category="xpu-shark.coverage",
        name=f"probes.{subject}",
        function=subject,
        location=source_location(op.location),
        message=f"{subject}: {reason}",
        args=(("Dispatch", subject), ("Condition", reason)),
    ).emit(op.context)
