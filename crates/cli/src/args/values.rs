//! Values of options: each is read, or refused with what was expected.

use std::time::Duration;

pub fn two_cores(text: &str) -> Result<[usize; 2], String> {
    let cores: Option<Vec<usize>> = text.split(',').map(|core| core.trim().parse().ok()).collect();
    match cores.as_deref() {
        Some([first, second]) if first != second => Ok([*first, *second]),
        Some([_, _]) => Err("the cores must be two different ones".into()),
        _ => Err("two cores are expected, such as 0,1".into()),
    }
}

pub fn compute(text: &str) -> Result<f64, String> {
    if text == "ignore" {
        return Ok(0.0);
    }
    let factor = text.parse().ok().filter(|factor: &f64| (0.0..=1e6).contains(factor));
    factor.ok_or_else(|| "`ignore`, or a factor such as 1 or 8.5, is expected".into())
}

/// A mapping as text, checked where the machine is known.
pub fn mapping(text: &str) -> Result<String, String> {
    let is_valid = !text.trim().is_empty();
    is_valid.then(|| text.into()).ok_or_else(|| "a mapping is expected, such as random or a file".into())
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "a number of seconds is expected, such as 60 or 0.5".into())
}

pub fn time_limit(text: &str) -> Result<Duration, String> {
    let time = seconds(text)?;
    if time.is_zero() { Err("more than 0 seconds are expected, such as 60 or 0.5".into()) } else { Ok(time) }
}

/// Who polls in vain looks up at least every millisecond.
pub fn patience(text: &str) -> Result<Duration, String> {
    let is_enough = |time: &Duration| *time >= Duration::from_millis(1);
    seconds(text).ok().filter(is_enough).ok_or_else(|| "at least 0.001 s is expected, such as 10".into())
}

pub fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(
        "NAME=VALUE is expected; variables of this shell that are exported are the tasks' too, without -x",
    )?;
    Ok((name.into(), value.into()))
}
