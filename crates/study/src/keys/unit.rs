//! The unit that ends a key's name.

/// Ends of names and what they stand for; the longest that fits counts.
const UNITS: &[(&str, &str)] = &[
    ("ticks_per_second", "1/s"),
    ("ticks_per_byte", "ticks/B"),
    ("bytes_per_tick", "B/tick"),
    ("flits_per_tick", "flits/tick"),
    ("flops_per_ns", "1/ns"),
    ("GB_per_s", "GB/s"),
    ("MHz", "MHz"),
    ("KiB", "KiB"),
    ("packets_per_us", "packets/us"),
    ("flits_per_ns", "flits/ns"),
    ("per_million", "per million"),
    ("errors_per_Tbit", "per 10^12 bits"),
    ("error_rate", "per bit"),
    ("ppb", "per 10^9"),
    ("milliticks", "ticks/1000"),
    ("microticks", "ticks/10^6"),
    ("ticks", "ticks"),
    ("cycles", "cycles"),
    ("us", "us"),
    ("ns", "ns"),
    ("B", "B"),
    ("bytes", "B"),
    ("bits", "bits"),
    ("flits", "flits"),
    ("chunks", "chunks"),
    ("packets", "packets"),
];

/// Suffixes that may follow a unit and are not part of it: `credits_max_B` has one before, `data_max` none.
const LIMITS: [&str; 2] = ["_max", "_min"];

/// The unit of a key, by its name.
pub(super) fn of(name: &str) -> Option<&'static str> {
    let name = LIMITS.iter().find_map(|limit| name.strip_suffix(limit)).unwrap_or(name);
    let fits = |end: &str| name == end || name.strip_suffix(end).is_some_and(|rest| rest.ends_with('_'));
    UNITS.iter().filter(|(end, _)| fits(end)).max_by_key(|(end, _)| end.len()).map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn units_end_names() {
        assert_eq!(of("warmup_us"), Some("us"));
        assert_eq!(of("bytes"), Some("B"));
        assert_eq!(of("cycle_microticks"), Some("ticks/10^6"));
        assert_eq!(of("chunks_max"), Some("chunks"));
        assert_eq!(of("ddr_bytes_per_tick"), Some("B/tick"));
        assert_eq!((of("status"), of("groups")), (None, None));
    }
}
