"""From a learning management system and back to it: who handed in what, and which grades and pages go where."""
