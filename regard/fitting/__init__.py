"""From pairs to a trained model: what a file of pairs implies, `fit`, and the experiment of both front ends."""
