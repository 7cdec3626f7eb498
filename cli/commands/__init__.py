"""Shell-only commands, and running commands of the table in a shell."""
