"""What people press and type: keys, and what the palette offers. Pure."""
