"""The protocol: requests of every kind, valid, odd and hostile, and peers that answer them."""
