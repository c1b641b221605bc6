"""What a field may hold.

Compact type files (TOML), and the walk that checks, prunes and defaults.
"""
