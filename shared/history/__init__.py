"""The history of a workspace: health, transitions and whole snapshots, shared by dashboard and bot."""
