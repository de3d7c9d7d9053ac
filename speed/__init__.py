"""What predict costs, as ratios measured in one run on this machine."""
