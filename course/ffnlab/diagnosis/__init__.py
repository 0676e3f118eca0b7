"""What is wrong with an answer, in words, and which mistake was made."""
