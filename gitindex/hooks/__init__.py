"""Git hooks, the detached worker that they start, and the installation of both (HK-*)."""
