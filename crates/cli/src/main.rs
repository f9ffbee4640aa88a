//! The `netloom` command.
fn main() {}
