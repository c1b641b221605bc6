"""What `make` calls: set-up, supervisor, tests and smoke. Standard library only, since it makes the environment."""
