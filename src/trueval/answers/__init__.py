"""Answers of RAG systems: logs of them, the judged table of their claims, and measures of both with intervals."""
