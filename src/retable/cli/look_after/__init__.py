"""Commands that look after a lake: upkeep, copies, and what is held, quarantined or lost."""
