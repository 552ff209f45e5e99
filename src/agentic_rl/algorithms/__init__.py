"""The mathematics of learning: pure functions on tensors, each with the source of its formula."""
