"""What is read about a class: reports, tables, answers that are alike, and why an answer has its points."""
