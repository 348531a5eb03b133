"""A server that answers with trained models, and its client. The folder can be taken away."""
