"""The dashboard's lists: their rows, columns, filters, and the panels they stand in. Pure."""
