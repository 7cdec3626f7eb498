"""Values drawn over time or side by side: heatmap, incident, comparison, marks. Pure."""
