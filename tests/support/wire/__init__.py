"""The protocol: requests of every kind, sane, odd and hostile, and peers that answer them."""
