"""What `ci/mutants` changes in a function. See its help."""
