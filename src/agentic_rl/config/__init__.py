"""Text to checked configuration: reading, validation, rules, reports. Imports no backend and nothing heavy."""
