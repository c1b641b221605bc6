"""Pages of workloads: thin, and each object comes through the access check."""
