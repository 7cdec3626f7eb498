"""Colors, text bars, plots and formatting."""
