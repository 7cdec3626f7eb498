"""Who and what is in the workspace, and what was said."""
