"""nbgrader's gradebook with our history of attempts in it, and what a score comes to by the class's rules."""
