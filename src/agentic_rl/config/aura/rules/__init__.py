"""Relations between the keys of the instances format (ARL215 to ARL219, ARL282 to ARL299, and codes that it shares)."""
