"""What nbgrader's own commands and pages do differently in this project. Loaded by nbgrader_config.py."""
