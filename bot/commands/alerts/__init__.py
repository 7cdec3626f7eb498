"""Acts of people on alerts: to claim, assign or acknowledge them, and to find them by name."""
