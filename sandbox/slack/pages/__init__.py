"""The web page that people see."""
