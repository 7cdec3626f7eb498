"""The report that an agency sends to its client: its values, and one self-contained page of them."""
