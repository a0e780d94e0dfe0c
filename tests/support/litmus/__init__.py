"""Programs that count what a broken order would show, on CPU worlds and on GPUs alike.

Each is a function of a communicator (one rank of it) that returns how many wrong values this rank
saw; `rounds` are made inside of the kernel. `broken` names what is left out, which must be seen.
"""

from litmus import barriers, channels, flags, network, semaphores

# Name → the function, and what can be left out of it.
LITMUS = {
    "message passing by barriers": (barriers.message_passing_by_barriers, ["written", "read"]),
    "store buffering with barriers": (barriers.store_buffering_with_barriers, ["written", "read"]),
    "message passing by grid barriers": (
        barriers.message_passing_by_grid_barriers,
        ["scope", "read"],
    ),
    "message passing by local barriers": (
        barriers.message_passing_by_local_barriers,
        ["written", "read"],
    ),
    "message passing by semaphores": (
        semaphores.message_passing_by_semaphores,
        ["order", "wait", "credit"],
    ),
    "message passing by puts": (semaphores.message_passing_by_puts, ["order", "wait"]),
    "copies that signal": (semaphores.copies_that_signal, ["wait", "credit"]),
    "additions of all ranks": (barriers.additions_of_all_ranks, ["written", "read"]),
    "two lanes at once": (barriers.two_lanes_at_once, ["written", "read"]),
    "messages of channels": (channels.messages_of_channels, ["send"]),
    "exchanges with tags": (channels.exchanges_with_tags, ["exchange"]),
    "exchanges with a reserved value": (channels.exchanges_with_a_reserved_value, ["exchange"]),
    "flags over launches": (flags.flags_over_launches, ["order", "wait", "closing barrier"]),
    "flags over rotating windows": (flags.flags_over_rotating_windows, ["order", "wait"]),
    "copies and flags": (flags.copies_and_flags, ["order", "wait"]),
    "ring with credits": (semaphores.ring_with_credits, ["wait", "credit"]),
}

# Those whose counters can start anywhere.
COUNTED = [
    "message passing by semaphores",
    "messages of channels",
    "exchanges with tags",
    "exchanges with a reserved value",
]

# Those that reach any rank: also where the network lies between LSA teams, which then gets wrong
# what is left out.
NETWORK = {
    "puts, then signals": (network.puts_then_signals, ["order", "wait", "flush"]),
    "puts, then a barrier": (network.puts_then_a_barrier, ["barrier", "relaxed", "read"]),
    "a store, a put, a signal": (network.a_store_a_put_a_signal, ["order", "mate"]),
    "puts of all instances": (network.puts_of_all_instances, ["signal", "scope", "read"]),
    "reads next door": (network.reads_next_door, ["rail", "read"]),
    "gets of all ranks": (network.gets_of_all_ranks, ["flush", "early"]),
    "message passing by puts": LITMUS["message passing by puts"],
    "messages of channels": LITMUS["messages of channels"],
    "exchanges with tags": LITMUS["exchanges with tags"],
    "exchanges with a reserved value": LITMUS["exchanges with a reserved value"],
}
