"""The commands of the course, one thin module each, named for its command."""
