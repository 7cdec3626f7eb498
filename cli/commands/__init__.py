"""The commands that only a shell has, and how commands of the table run in one."""
