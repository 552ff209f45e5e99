"""How trajectories are made: chat format, recorder, driver, engines."""
