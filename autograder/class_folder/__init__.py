"""What lies in a class's folder: submissions, who is who, what was collected, the rules, the log. Nothing here opens a gradebook."""
