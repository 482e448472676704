"""The supply chain: hashed pins, licences, advisories and bills of materials."""
