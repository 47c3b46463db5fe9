"""The on-disk store: shards of whole queries that are mapped into memory; `writing.py` makes them, `opening.py` reads
them."""
