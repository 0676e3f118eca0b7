"""The answer keys of notebook 00, Start here."""
