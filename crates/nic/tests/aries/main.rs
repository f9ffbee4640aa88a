//! Aries NICs: what they move, and what their limits are.

mod machine;
mod thin;
