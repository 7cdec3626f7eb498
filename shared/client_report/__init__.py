"""The client report: its values, and one self-contained page."""
