"""Values drawn over time: incident and marks. Pure."""
