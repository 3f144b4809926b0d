"""`python -m gitindex`."""

from gitindex.cli.start import main

if __name__ == "__main__":
    main()
