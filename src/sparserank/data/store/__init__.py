"""The on-disk store: shards of whole queries that are mapped into memory."""
