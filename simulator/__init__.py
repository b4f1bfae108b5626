"""Dataflow simulator: workloads, targets, programs, timelines. Knows neither MLIR nor IREE."""
