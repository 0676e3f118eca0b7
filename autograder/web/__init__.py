"""The class in a browser: collect, grade, read, give back. `autograder desk` serves it on this machine alone; plain HTML that works without scripts."""
