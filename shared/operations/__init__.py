"""The operations behind the commands that are not modules of their own yet."""
