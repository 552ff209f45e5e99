"""Facts about verl's native configuration and rules on it: keys, names, what is installed. No verl is imported."""
