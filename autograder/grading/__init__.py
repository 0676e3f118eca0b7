"""A whole class: its submissions are graded side by side and written into gradebook, log and feedback pages."""
