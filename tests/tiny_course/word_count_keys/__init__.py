"""The keys of the course on counting words: no student gets them."""
