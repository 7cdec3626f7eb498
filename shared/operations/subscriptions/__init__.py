"""What a channel is told: its subscriptions and its digest."""
