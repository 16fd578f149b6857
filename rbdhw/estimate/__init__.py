"""What a bound design takes on its device, from its structure."""
