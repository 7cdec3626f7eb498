"""The control API: what people do, faults, reports."""
