"""Writers of the shop's history, one for each message format."""
