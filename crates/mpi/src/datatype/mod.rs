//! Datatypes (MPI 5.0, chapter 5).
//!
//! - [`Predefined`] – those of the standard, with their handles.
//! - [`Datatype`] – any type: size, bounds, elements, and the [`Layout`] of its data.
//! - [`Scattered`] – an array with its data where the layout says.

mod derived;
mod elements;
pub mod external;
mod layout;
mod predefined;
mod scattered;

pub use derived::Datatype;
pub use elements::Element;
pub use layout::Layout;
pub use predefined::{Kind, NULL, PREDEFINED, Predefined, predefined};
pub use scattered::Scattered;
