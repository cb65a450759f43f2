"""Commands that compare gold with bronze, with the ledger, or with an earlier state."""
