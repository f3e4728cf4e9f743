"""The bytes of a source: read, unpacked, limited, decoded and cut into lines."""
