"""The marking guide of notebook 00, Start here."""
