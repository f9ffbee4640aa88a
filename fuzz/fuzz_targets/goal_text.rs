//! GOAL text: no input panics the parser, and what it accepts comes back the same from both forms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netloom_workload::goal::{binary, text, write_text};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = text::parse(bytes) {
        let (mut written, mut packed) = (Vec::new(), Vec::new());
        write_text(&trace, &mut written).unwrap();
        binary::write(&trace, &mut packed).unwrap();
        assert_eq!(text::parse(&written).unwrap(), trace);
        assert_eq!(binary::read(&packed).unwrap(), trace);
    }
});
