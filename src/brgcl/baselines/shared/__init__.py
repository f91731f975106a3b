"""What several baselines use."""
