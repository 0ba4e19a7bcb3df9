"""Who a client is: SASL, certificate names, dummy credentials."""
