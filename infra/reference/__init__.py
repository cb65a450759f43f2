"""Makes the reference pages of the documentation out of the code. `make docs` calls it, and a test compares them."""
