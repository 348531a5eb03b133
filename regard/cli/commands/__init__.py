"""The commands, one thin module each, named for its command. Nothing here imports torch until a command runs."""
