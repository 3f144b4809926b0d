"""The soak: a long random life of one repository and its index, with what must always hold checked after each step."""
