"""Golden sets: pooled, judged, refined, with every label traceable to the call that gave it."""
