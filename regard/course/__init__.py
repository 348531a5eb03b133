"""The course: laboratories, lectures, exercises and the matrix of connections. The rest of regard does without it."""
