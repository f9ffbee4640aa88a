//! The torus router of BlueGene/L and its variants: virtual cut-through, token flow control, dynamic VCs over
//! an escape VC (Blumrich et al., sections 2 and 4). `docs/torus-router.md` describes its actions in each
//! tick.

mod arbitration;
mod block;
mod build;
mod checkpoint;
mod choice;
mod ends;
mod fetch;
mod hosts;
mod recovery;
mod report;
mod shared;
mod slots;
mod state;
mod tables;

/// Networks of these routers, as their hosts see them.
pub enum TorusFamily {}

pub use block::TorusBlock;
pub use build::TorusNetwork;
