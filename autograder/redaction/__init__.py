"""What of a verdict on hidden inputs a page may show: which words of a student (`quotations`), how much of a number (`redact`), and the panel made of both."""
