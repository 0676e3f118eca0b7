"""What authors use: building notebooks and answers, the sample class, the bench, the record of the twenty secrets."""
