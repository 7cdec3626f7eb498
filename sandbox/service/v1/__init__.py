"""The API of the document, under `/v1`."""
