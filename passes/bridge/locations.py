"""Where in the user's files an operation comes from, as `file:line:col`.

One location may be many frames: the op's own line, then its callers, innermost first, and a fused
location has one such list a part. Of a list the first frame in a file of the user's model counts:
not in an installed package, and not in the .mlir that a framework wrote. Where there is none it
is the op's own line, whatever file that is in. Line 0 is how MLIR spells "no line".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from iree.compiler import ir

_PACKAGES = ("site-packages", "dist-packages")
_COMPILER_INPUTS = (".mlir", ".mlirbc")


def source_location(location: ir.Location) -> str:
    """The one `file:line:col` to show for `location`; empty where it names no line."""
    return next(iter(source_sites(location)), "")


def source_sites(location: ir.Location) -> tuple[str, ...]:
    """Every distinct place that `location` was fused from, in order; one for any other kind."""
    if isinstance(location, ir.FusedLoc):
        sites = (site for part in location.locations for site in source_sites(part))
        return tuple(dict.fromkeys(sites))
    if isinstance(location, ir.NameLoc):
        return source_sites(location.child_loc)
    if isinstance(location, ir.CallSiteLoc) and isinstance(location.callee, ir.FusedLoc):
        return source_sites(location.callee) or source_sites(location.caller)
    frames = [frame for frame in _frames(location) if frame.start_line]
    best = next((frame for frame in frames if _is_model(frame.filename)), None)
    best = best or next(iter(frames), None)
    return (f"{best.filename}:{best.start_line}:{best.start_col}",) if best else ()


def _frames(location: ir.Location) -> Iterator[ir.FileLineColLoc]:
    """The lines of `location`, innermost first."""
    pending = [location]
    while pending:
        inner = pending.pop()
        if isinstance(inner, ir.FileLineColLoc):
            yield inner
        else:
            pending.extend(reversed(_INSIDE.get(type(inner), lambda _: [])(inner)))


def _is_model(filename: str) -> bool:
    installed = any(package in filename for package in _PACKAGES)
    return not installed and not filename.endswith(_COMPILER_INPUTS)


_INSIDE: dict[type, Callable[[ir.Location], list[ir.Location]]] = {
    ir.NameLoc: lambda location: [location.child_loc],
    ir.CallSiteLoc: lambda location: [location.callee, location.caller],
    ir.FusedLoc: lambda location: list(location.locations),
}
