"""The version of the client, which is also the program's."""

VERSION = "1.0.0"
