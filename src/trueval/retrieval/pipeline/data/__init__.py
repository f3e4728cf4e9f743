"""The rules that denoise.py reads."""
