"""The forms of a report beside JSON: source lines and colour for a terminal, SARIF for scanners, HTML for notebooks."""
