"""Contexts of RAG systems: logs, answers, unjudged documents, sensitivity to labels."""
