"""Ways in from git: the note, the detached worker, and the installation of both (HK-*)."""
