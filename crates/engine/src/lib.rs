//! Time, events, blocks, windows and random streams: a parallel discrete-event engine that knows nothing of networks.
