"""What people are told: alarms, what to do about them, changes and new replies. Pure."""
