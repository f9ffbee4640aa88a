//! `EXT_is_local_task` and `BGQ_bgq_mapping`: a word for each task, in which a bit says whether the task runs
//! on the caller's node. Natively all do.

use super::{Extension, everywhere};
use crate::client::Job;
use std::ffi::c_void;
use std::sync::OnceLock;

pub const EXTENSION: Extension = Extension {
    name: "EXT_is_local_task",
    refusal: everywhere,
    symbols: &["base", "stride", "bitmask"],
    symbol: |job, name| match name {
        "base" => words(job).as_ptr().cast_mut().cast::<u8>().wrapping_add(BYTE).cast(),
        "stride" => std::ptr::without_provenance_mut(size_of::<u32>()),
        _ => std::ptr::without_provenance_mut(LOCAL as usize >> 24),
    },
};

pub const MAPPING: Extension = Extension {
    name: "BGQ_bgq_mapping",
    refusal: everywhere,
    symbols: &["mapcache"],
    symbol: |job, _| words(job).as_ptr().cast_mut().cast::<c_void>(),
};

/// The bit, and the byte of a word that has it.
const LOCAL: u32 = 0x4000_0000;
const BYTE: usize = if cfg!(target_endian = "little") { 3 } else { 0 };

fn words(job: &Job) -> &'static [u32] {
    static WORDS: OnceLock<Vec<u32>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let is_local = |task: &u32| job.locals().contains(&(*task as usize));
        (0..job.first + job.tasks).map(|task| if is_local(&task) { LOCAL } else { 0 }).collect()
    })
}
