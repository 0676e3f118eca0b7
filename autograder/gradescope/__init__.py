"""Grading inside Gradescope: the zip that it takes, and what runs in its container."""
