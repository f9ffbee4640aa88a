//! Numbers for people.

/// A number with three or four significant digits and thousands set apart.
pub fn short(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        "0".into()
    } else if !x.is_finite() {
        "-".into()
    } else if magnitude >= 1000.0 {
        grouped(x.round() as i64)
    } else if magnitude >= 100.0 {
        format!("{x:.0}")
    } else if magnitude >= 10.0 {
        format!("{x:.1}")
    } else if magnitude >= 1.0 {
        format!("{x:.2}")
    } else if magnitude >= 0.001 {
        format!("{x:.4}")
    } else {
        format!("{x:.1e}")
    }
}

/// A number with six digits at most, as it may stand in a file: nothing sets its thousands apart, no zeros
/// end it.
pub fn plain(x: f64) -> String {
    let decimals = 5_usize.saturating_sub(x.abs().max(1.0).log10() as usize);
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A whole number with its thousands set apart by commas.
pub fn grouped(i: i64) -> String {
    let digits = i.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if i < 0 { format!("-{text}") } else { text }
}

/// A large count in thousands, millions or billions: `12.3 M`.
pub fn scaled(x: f64) -> String {
    match x.abs() {
        m if m >= 1e12 => format!("{:.2} T", x / 1e12),
        m if m >= 1e9 => format!("{:.2} G", x / 1e9),
        m if m >= 1e6 => format!("{:.2} M", x / 1e6),
        m if m >= 1e4 => format!("{:.1} k", x / 1e3),
        _ => short(x),
    }
}

/// A count with its noun: `1 thread`, `2 threads`.
pub fn counted(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// A time of the wall clock: `40 ms`, `12 s`, `3 min 05 s`, `2 h 10 min`.
pub fn duration(seconds: f64) -> String {
    if seconds < 0.9995 {
        return format!("{:.0} ms", seconds * 1e3);
    }
    let s = seconds.round() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

/// A fraction as a percentage.
pub fn percent(x: f64) -> String {
    format!("{:.1}%", x * 100.0)
}

/// Evenly spaced round numbers that cover a range: at most about `count` of them.
pub fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    if high.partial_cmp(&low) != Some(std::cmp::Ordering::Greater) {
        return vec![low];
    }
    let raw = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The label of a tick, with the decimals that its step needs.
pub fn tick_label(x: f64, step: f64) -> String {
    if step >= 1.0 && x.abs() >= 1000.0 {
        return grouped(x.round() as i64);
    }
    // As many decimals as the step itself has.
    let decimals = (0..8)
        .find(|&d| {
            let s = step * 10f64.powi(d);
            (s - s.round()).abs() < 1e-6 * s.max(1.0)
        })
        .unwrap_or(8);
    format!("{x:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(short(1_234_567.0), "1,234,567");
        assert_eq!(short(0.98123), "0.9812");
        assert_eq!(scaled(12_345_678.0), "12.35 M");
        assert_eq!(grouped(-1000), "-1,000");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let labels: Vec<String> = ticks(0.0, 1.0, 5).into_iter().map(|t| tick_label(t, 0.2)).collect();
        assert_eq!(labels, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(ticks(0.0, 2857.0, 6), [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]);
        assert_eq!(tick_label(0.25, 0.25), "0.25");
        assert_eq!(tick_label(5.0, 1.0), "5");
    }

    #[test]
    fn plurals_and_times() {
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!((counted(0, "thread"), counted(1200, "node")), ("0 threads".into(), "1,200 nodes".into()));
        assert_eq!([0.0004, 0.04, 0.9999, 59.4].map(duration), ["0 ms", "40 ms", "1 s", "59 s"]);
        assert_eq!([185.0, 7800.0].map(duration), ["3 min 05 s", "2 h 10 min"]);
    }
}
