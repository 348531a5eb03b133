"""The paths, one in each file: faster ways to compute what other folders compute plainly."""
