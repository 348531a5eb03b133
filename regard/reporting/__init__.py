"""What is printed while something runs: the console, its safe characters, and progress."""
