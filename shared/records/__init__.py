"""What the bot keeps in its database, as the commands and the dashboard read it."""
