"""The exercises of the course, one module per notebook: how each is called, on what inputs, for how many points. No answers."""
