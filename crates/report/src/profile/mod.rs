//! The profile of programs on a simulated machine, for people and for other programs: tables, a folder with a
//! page and drawings, and a trace.
//!
//! - [`text`] – tables for the terminal and the page.
//! - `drawing` – calls over time, and where the time goes.
//! - [`trace`] – calls and messages as trace events of Chrome's format.
//! - `files` – the folder.

mod drawing;
mod files;
pub mod text;
pub mod trace;

pub use files::write_profile;
