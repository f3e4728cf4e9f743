"""Our values inside other tools: one file a tool, which nothing of ours imports.

Each file imports its tool when it is imported, and ours when it is used.
"""
