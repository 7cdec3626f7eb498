"""The version of the client, which is also the program's."""

VERSION = "2.0.0.dev0"
