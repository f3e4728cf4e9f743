"""`python -m trueval` is the command `trueval`."""

from trueval.cli.main import main

if __name__ == "__main__":
    main()
