"""The dashboard's widgets, mounted once and never recomposed."""
