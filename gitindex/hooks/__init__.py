"""Ways in from git: the hooks, the detached worker, and the installation of both (HK-*)."""
