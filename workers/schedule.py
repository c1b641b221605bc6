"""What runs by the clock. Each run is safe to miss and safe to double."""

SCHEDULE = {
    "sweep": {
        "task": "slipway.sweep",
        "schedule": 5.0,
        # A sweep that waited in a long queue is of no use: the next one is already there.
        "options": {"expires": 5},
    },
    "reconcile": {
        "task": "slipway.reconcile",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}
