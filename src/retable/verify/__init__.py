"""Whether gold is what it must be: against bronze, folded anew, and against the ledger; and two states of a table."""
