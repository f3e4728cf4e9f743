"""The sample table: fictitious authors with titles and topics of our own, in English and French."""
