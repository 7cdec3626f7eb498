"""The dashboard's content as plain values. Pure."""
