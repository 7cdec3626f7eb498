"""One workspace, or all, as snapshots show it: the board, and what changed. Pure."""
