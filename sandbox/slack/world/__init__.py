"""Users, channels, messages and views of the workspace, and the checks on them."""
