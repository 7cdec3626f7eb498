"""Nothing: environments that were installed earlier still name this module as a plug-in of pytest."""
