"""Running the agents of agent instances for whoever asks, and telling what happens as it happens."""
