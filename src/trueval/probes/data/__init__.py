"""The table of our sample: authors who do not exist, with titles and topics of our own, in English and French."""
