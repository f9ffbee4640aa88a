//! Numbers as PAMI's environment has them.

/// A whole number; behind it K or M for 1,024 and its square. `None` if it is none.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_a_letter() {
        let read = ["2049", " 4K ", "2m", "x", "", "K", "-1", "99999999999999999999", "1G"].map(number);
        assert_eq!(read, [Some(2049), Some(4096), Some(2 << 20), None, None, None, None, None, None]);
    }
}
