//! Results for people and for other programs: a run's or a sweep's folder with its drawings, tables and
//! pages, what the terminal shows, published figures beside simulated ones, and claims judged.

pub mod claims;
pub mod compare;
pub mod figures;
pub mod folder;
pub mod limits;
pub mod profile;
pub mod published;
pub mod sweep;
pub mod terminal;
pub mod text_table;
pub mod write;
