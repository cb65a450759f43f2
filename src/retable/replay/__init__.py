"""Order, epochs, fold: the pure heart. Gold is a function of the set of events, and these are that function."""
