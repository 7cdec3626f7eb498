"""The records of the bot, as the commands and the dashboard read them."""
