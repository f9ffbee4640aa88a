//! Routers: buffers, tokens, arbitration. One folder a family.

pub mod torus;
