"""Present results: one shared table, one module per format."""
