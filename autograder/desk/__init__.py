"""What instructors use: a class's folders, gradebook, feedback, report and log."""
