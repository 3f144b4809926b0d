"""`python -m gitindex`."""

from gitindex.cli.main import main

if __name__ == "__main__":
    main()
