"""One module of figures per notebook: pure functions from parameters to a `Picture`."""
