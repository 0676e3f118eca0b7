"""From the bytes of a submission to its verdicts: rebuilt, run in the jail, judged in a process of its own, many side by side."""
