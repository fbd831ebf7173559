"""Keep and find what was measured: append-only records, queries."""
