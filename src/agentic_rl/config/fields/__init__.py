"""What the formats share about the fields of their schemas: shape, documentation, and the words for a broken value."""
