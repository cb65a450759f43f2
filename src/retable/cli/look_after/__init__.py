"""Commands that look after a lake: upkeep, copies, what is held, quarantined or lost."""
