"""The dashboard's widgets: mounted once, each with one way in, never recomposed."""
