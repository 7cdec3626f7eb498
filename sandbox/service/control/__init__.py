"""The control API: time, faults, events on demand."""
