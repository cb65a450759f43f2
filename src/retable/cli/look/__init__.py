"""Commands that show gold tables and how complete they are."""
