"""The embedded backend: transformers, trained in this process on one machine."""
