"""Readers of traces: spans of retrievers, as OpenInference and OpenTelemetry name them and six tools export them."""
