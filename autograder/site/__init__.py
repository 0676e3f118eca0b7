"""The course on web pages: notebooks to read, with figures that answer without a kernel, and the documentation. `make site`."""
