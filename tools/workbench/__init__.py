"""What the demo, the comparison and the tests share: models, loading, timing and talk."""
