"""The Home tab: its values, its view, and its updates."""
