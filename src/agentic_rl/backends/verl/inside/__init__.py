"""What runs in verl's own processes. These modules import verl, so nothing outside this package imports them."""
