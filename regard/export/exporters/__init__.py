"""The formats in which a trained model is written for other programs, one per file."""
