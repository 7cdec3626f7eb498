"""Ways to see the dashboard: one snapshot, a browser, or a viewer of another process."""
