"""The dashboard's lists: their rows, columns, filters, views, and the panels they stand in. Pure."""
