"""The workloads, a module for each group of the table."""
