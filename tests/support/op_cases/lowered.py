"""Ops that no user writes: which op is lowered to them, whose cases are their tests too."""

LOWERED_FROM = {
    "stride": "load",
    "address": "load",
    "tile_load": "load",
    "tile_store": "store",
    "tile_atomic": "atomic",
    "lsa_barrier": "barrier",
    "grid_barrier": "barrier",
    "view_copy": "put",
    "drain_copies": "put",
    "semaphore_signal": "signal",
    "semaphore_wait": "wait",
    "relayout": "broadcast",
    "tile_prefetch": "prefetch",
    "pointer_cast": "field",
    "channel_send": "send",
    "channel_recv": "recv",
    "channel_exchange": "exchange",
    "channel_open": "exchange",
    "channel_close": "exchange",
}
