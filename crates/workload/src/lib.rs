//! What the nodes do: traffic patterns, skeletons of programs, traces.
