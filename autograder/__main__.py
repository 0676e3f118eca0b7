"""The command `autograder`, and `python -m autograder`. What it needs is imported in it: each worker process runs this file again, and needs nothing of it."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from autograder import startup

    startup.enter_course()
    from autograder import cli

    cli.main()


if __name__ == "__main__":
    main()
