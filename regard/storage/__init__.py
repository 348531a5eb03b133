"""Files on disk: written atomically, locked, listed in a manifest; tensors in them. Imports only the registry."""
