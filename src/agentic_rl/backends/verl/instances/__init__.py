"""Runs of verl that the instances format describes: one train instance, and the agent that acts for it."""
