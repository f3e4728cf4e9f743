"""`python -m evidence`; nothing is imported here, for the processes of tests look at this module as well."""

if __name__ == "__main__":
    import sys

    from evidence.runner import main

    sys.exit(main())
