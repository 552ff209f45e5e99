"""Tools that come with the package: run Python, calculate, search, finish."""
