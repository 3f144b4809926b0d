"""What gitindex keeps in a git directory: one folder per user, with the requests of the hooks (HK-6)."""
