//! Line codes that send a byte as ten bits: 8B/10B, and the 8B/10B-P of Blue Gene/Q's optical links (Chen et
//! al., section II.G).
//!
//! [`standard`] is Widmer and Franaszek's ("A DC-balanced, partitioned-block, 8B/10B transmission code", IBM
//! J. Res. Dev. 27, 1983; the tables are also in IEEE 802.3, clause 36): a symbol has equally many ones and
//! zeros, or two more of either, alternating; at most five equal bits are adjacent. A single error may turn
//! it into another valid symbol, with up to five wrong bits in the byte.
//!
//! [`with_parity`] is for links that must detect every single error where it happens. The paper: "a
//! modification of the standard 8B/10B code with Hamming distance two", after Widmer's US patent 5,699,062.
//! The patent's table was not available. Known are its title ("having local parity") and, from its abstract,
//! that each symbol has one of three values of a property that any single bit flip changes, and that a comma
//! occurs in one symbol only and across no symbol boundary. **(ours)**, with these properties:
//!
//! - Each symbol has 5 ones, or 3 and 7 alternately: always an odd number, so one flipped bit makes an
//!   invalid symbol.
//! - The 134 bytes with a balanced standard symbol keep it (the form that follows a negative disparity,
//!   whatever precedes).
//! - The others have, in the order of their values, the remaining ones of the 232 balanced symbols that
//!   neither begin nor end with more than three equal bits, in the order of theirs; then pairs with 7 ones
//!   and with 3 of the same kind.
//! - There are never seven adjacent equal bits except in the comma, `0111111100` or its complement: its seven
//!   ones mark symbol boundaries.
//!
//! A receiver that has seen an invalid symbol no longer knows the disparity; it takes it from the next
//! unbalanced symbol. So each error is counted once, where it happens.

use std::sync::LazyLock;

/// Bits of a symbol. The highest (bit 9, called `a`) is sent first.
pub const BITS: u32 = 10;

/// The meaning of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Character {
    /// A byte.
    Data(u8),
    /// A special character: K28.5 is `0xbc`, and so on. The code with parity has only its comma.
    Control(u8),
}

/// The special character by which a receiver finds symbol boundaries.
pub const COMMA: Character = Character::Control(0xbc);

/// The running disparity at the end of a symbol: whether the line has carried more zeros or more ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disparity {
    /// More zeros: the state of a new line.
    #[default]
    Minus,
    /// More ones.
    Plus,
}

/// Why a received symbol, or one before it, differs from the symbol sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// No character has this symbol.
    #[error("{0:#012b} is not a valid symbol")]
    Invalid(u16),
    /// It is the other form of a valid symbol: this symbol or an earlier one was changed.
    #[error("{symbol:#012b} does not follow a disparity of {before:?}")]
    Disparity {
        /// The received symbol.
        symbol: u16,
        /// The disparity before it.
        before: Disparity,
        /// Its character, if the error is in an earlier symbol.
        character: Character,
    },
}

/// A line code: encodes characters as symbols, and decodes them.
#[derive(Debug)]
pub struct LineCode {
    /// For each byte, then each special character: its symbols after a disparity of minus and of plus.
    forms: Vec<(Character, [u16; 2])>,
    /// For each symbol: its character, and the disparities that it may follow.
    meaning: Vec<Option<(Character, [bool; 2])>>,
}

/// Data of 5 bits as 6, `abcdei`, after a disparity of minus.
const SIX: [u16; 32] = [
    0b100111, 0b011101, 0b101101, 0b110001, 0b110101, 0b101001, 0b011001, 0b111000, 0b111001, 0b100101,
    0b010101, 0b110100, 0b001101, 0b101100, 0b011100, 0b010111, 0b011011, 0b100011, 0b010011, 0b110010,
    0b001011, 0b101010, 0b011010, 0b111010, 0b110011, 0b100110, 0b010110, 0b110110, 0b001110, 0b101110,
    0b011110, 0b101011,
];
/// Data of 3 bits as 4, `fghj`, after a disparity of minus; the seventh in its primary form.
const FOUR: [u16; 8] = [0b1011, 0b1001, 0b0101, 0b1100, 0b1101, 0b1010, 0b0110, 0b1110];
/// The alternate form of the seventh.
const FOUR_A7: u16 = 0b0111;
/// K28 as six bits, after a disparity of minus.
const SIX_K28: u16 = 0b001111;
/// The comma of the code with parity, after a disparity of minus.
const PARITY_COMMA: u16 = 0b01_1111_1100;

/// A part of a symbol, in the form that follows a disparity, and the disparity after it.
fn part(form: u16, bits: u32, complement_balanced: bool, before: Disparity) -> (u16, Disparity) {
    let balanced = 2 * form.count_ones() == bits;
    let other = before == Disparity::Plus && (!balanced || complement_balanced);
    let sent = if other { !form & ((1 << bits) - 1) } else { form };
    (sent, after(sent, bits, before))
}

fn after(sent: u16, bits: u32, before: Disparity) -> Disparity {
    match (2 * sent.count_ones()).cmp(&bits) {
        std::cmp::Ordering::Less => Disparity::Minus,
        std::cmp::Ordering::Equal => before,
        std::cmp::Ordering::Greater => Disparity::Plus,
    }
}

/// The standard code's symbol.
fn standard_symbol(character: Character, before: Disparity) -> u16 {
    let (byte, control) = match character {
        Character::Data(byte) => (byte, false),
        Character::Control(byte) => (byte, true),
    };
    let (x, y) = (usize::from(byte & 31), usize::from(byte >> 5));
    let six = if control && x == 28 { SIX_K28 } else { SIX[x] };
    let (six, middle) = part(six, 6, x == 7, before);
    // When the primary form of the seventh would give five adjacent equal bits, or might form a comma.
    let runs = match middle {
        Disparity::Minus => matches!(x, 17 | 18 | 20),
        Disparity::Plus => matches!(x, 11 | 13 | 14),
    };
    let four = if y == 7 && (control || runs) { FOUR_A7 } else { FOUR[y] };
    // K28's balanced second parts are complemented too; otherwise K28.1 and K28.6 would be identical, and so
    // would K28.2 and K28.5. They are listed for a disparity of plus before the second part, to which K28's
    // first part turns minus.
    let swapped = control && x == 28 && matches!(y, 1 | 2 | 5 | 6);
    let (four, _) = if swapped {
        (if middle == Disparity::Plus { FOUR[y] } else { !FOUR[y] & 15 }, middle)
    } else {
        part(four, 4, y == 3, middle)
    };
    six << 4 | four
}

/// The standard code's special characters.
const CONTROLS: [u8; 12] = [0x1c, 0x3c, 0x5c, 0x7c, 0x9c, 0xbc, 0xdc, 0xfc, 0xf7, 0xfb, 0xfd, 0xfe];

/// The longest runs of equal bits within a symbol, and at its two ends.
fn runs(symbol: u16) -> [u32; 3] {
    let bit = |i: u32| symbol >> (BITS - 1 - i) & 1;
    let (mut longest, mut run) = (1, 1);
    for i in 1..BITS {
        run = if bit(i) == bit(i - 1) { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    let first = (1..BITS).find(|&i| bit(i) != bit(0)).unwrap_or(BITS);
    [longest, first, run]
}

/// The code of Widmer and Franaszek.
pub fn standard() -> &'static LineCode {
    static CODE: LazyLock<LineCode> = LazyLock::new(|| {
        let characters = (0..=255).map(Character::Data).chain(CONTROLS.map(Character::Control));
        let both = [Disparity::Minus, Disparity::Plus];
        LineCode::new(characters.map(|c| (c, both.map(|before| standard_symbol(c, before)))).collect())
    });
    &CODE
}

/// The code in which every single error gives an invalid symbol.
pub fn with_parity() -> &'static LineCode {
    static CODE: LazyLock<LineCode> = LazyLock::new(|| {
        let plain = |ones| {
            let fits = move |&s: &u16| {
                s.count_ones() == ones && runs(s)[0] <= 6 && runs(s)[1] <= 3 && runs(s)[2] <= 3
            };
            (0..1 << BITS).filter(fits)
        };
        let kept = |byte| {
            let symbol = standard_symbol(Character::Data(byte), Disparity::Minus);
            (symbol.count_ones() == 5).then_some(symbol)
        };
        let mut used = [false; 1 << BITS];
        (0..=255).filter_map(kept).for_each(|symbol| used[usize::from(symbol)] = true);
        let balanced = plain(5).filter(|&s| !used[usize::from(s)]).map(|s| [s, s]);
        let mut others = balanced.chain(plain(7).map(|s| [s, !s & 0x3ff]));
        let mut forms: Vec<(Character, [u16; 2])> = (0..=255)
            .map(|byte| {
                let form =
                    kept(byte).map(|s| [s, s]).or_else(|| others.next()).expect("there are 342 for 256");
                (Character::Data(byte), form)
            })
            .collect();
        forms.push((COMMA, [PARITY_COMMA, !PARITY_COMMA & 0x3ff]));
        LineCode::new(forms)
    });
    &CODE
}

impl LineCode {
    fn new(forms: Vec<(Character, [u16; 2])>) -> Self {
        let mut meaning = vec![None; 1 << BITS];
        for &(character, form) in &forms {
            for (before, symbol) in form.into_iter().enumerate() {
                let (same, valid) = meaning[usize::from(symbol)].get_or_insert((character, [false; 2]));
                assert_eq!(*same, character, "two characters have the symbol {symbol:#012b}");
                valid[before] = true;
            }
        }
        LineCode { forms, meaning }
    }

    /// The symbol to send; updates `disparity`.
    ///
    /// # Panics
    /// If the code does not have this special character.
    pub fn encode(&self, character: Character, disparity: &mut Disparity) -> u16 {
        let place = match character {
            Character::Data(byte) => usize::from(byte),
            control => {
                self.forms.iter().position(|f| f.0 == control).expect("a special character of the code")
            }
        };
        let symbol = self.forms[place].1[*disparity as usize];
        *disparity = after(symbol, BITS, *disparity);
        symbol
    }

    /// Decodes a received symbol (below 1,024) and updates `disparity`, which is `None` while unknown.
    ///
    /// # Errors
    /// If the symbol is invalid, or cannot follow the ones before.
    pub fn decode(&self, symbol: u16, disparity: &mut Option<Disparity>) -> Result<Character, SymbolError> {
        let Some((character, valid)) = self.meaning[usize::from(symbol)] else {
            *disparity = None;
            return Err(SymbolError::Invalid(symbol));
        };
        let before = *disparity;
        *disparity = match after(symbol, BITS, Disparity::Minus) {
            _ if 2 * symbol.count_ones() == BITS => before,
            known => Some(known),
        };
        match before {
            Some(before) if !valid[before as usize] => {
                Err(SymbolError::Disparity { symbol, before, character })
            }
            _ => Ok(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Character::{Control, Data};

    const BOTH: [Disparity; 2] = [Disparity::Minus, Disparity::Plus];

    /// All symbols that may follow a disparity, with the disparity after them.
    fn following(code: &LineCode, before: Disparity) -> Vec<(Character, u16, Disparity)> {
        let next = |&(c, form): &(Character, [u16; 2])| {
            let symbol = form[before as usize];
            (c, symbol, after(symbol, BITS, before))
        };
        code.forms.iter().map(next).collect()
    }

    fn decode_alone(code: &LineCode, symbol: u16, before: Disparity) -> Result<Character, SymbolError> {
        code.decode(symbol, &mut Some(before))
    }

    /// The longest run of equal bits in any two consecutive symbols of characters that `pick` selects.
    fn longest_run(code: &LineCode, pick: impl Fn(Character) -> bool) -> u32 {
        let mut longest = 0;
        for before in BOTH {
            for (a, first, middle) in following(code, before) {
                for (b, second, _) in following(code, middle) {
                    if pick(a) && pick(b) {
                        let bits = u32::from(first) << 10 | u32::from(second);
                        let mut run = 1;
                        for i in 1..20 {
                            run = if (bits >> i ^ bits >> (i - 1)) & 1 == 0 { run + 1 } else { 1 };
                            longest = longest.max(run);
                        }
                    }
                }
            }
        }
        longest
    }

    /// The range of the running sum of ones minus zeros, from the start of the line: lowest and highest.
    fn excursion(code: &LineCode, step: i32) -> (i32, i32) {
        let (mut low, mut high) = (0, 0);
        for before in BOTH {
            // The line begins with a disparity of minus.
            let start = if before == Disparity::Minus { 0 } else { step };
            for (_, symbol, _) in following(code, before) {
                let mut sum = start;
                for i in (0..BITS).rev() {
                    sum += if symbol >> i & 1 != 0 { 1 } else { -1 };
                    (low, high) = (low.min(sum), high.max(sum));
                }
                assert!(sum == 0 || sum == step, "{symbol:#012b} ends at {sum}");
            }
        }
        (low, high)
    }

    #[test]
    fn published_symbols_of_the_standard_code() {
        // IEEE 802.3, table 36-1: after minus, after plus.
        for (character, minus, plus) in [
            (Data(0x00), 0b1001110100, 0b0110001011),
            (Data(0x4a), 0b0101010101, 0b0101010101),
            (Data(0xb5), 0b1010101010, 0b1010101010),
            (Data(0x67), 0b1110001100, 0b0001110011),
            (Data(0x03), 0b1100011011, 0b1100010100),
            (Data(0xf1), 0b1000110111, 0b1000110001),
            (Data(0xeb), 0b1101001110, 0b1101001000),
            (Data(0xff), 0b1010110001, 0b0101001110),
            (Control(0x1c), 0b0011110100, 0b1100001011),
            (Control(0x3c), 0b0011111001, 0b1100000110),
            (Control(0x7c), 0b0011110011, 0b1100001100),
            (Control(0xbc), 0b0011111010, 0b1100000101),
            (Control(0xdc), 0b0011110110, 0b1100001001),
            (Control(0xfc), 0b0011111000, 0b1100000111),
            (Control(0xf7), 0b1110101000, 0b0001010111),
            (Control(0xfe), 0b0111101000, 0b1000010111),
        ] {
            for (before, symbol) in BOTH.into_iter().zip([minus, plus]) {
                assert_eq!(
                    standard().encode(character, &mut before.clone()),
                    symbol,
                    "{character:?} after {before:?}"
                );
            }
        }
    }

    #[test]
    fn both_codes_come_back() {
        for code in [standard(), with_parity()] {
            let (mut sent, mut received) = (Disparity::Minus, Some(Disparity::Minus));
            for i in 0..200_000usize {
                let character = code.forms[i * i % 7919 % code.forms.len()].0;
                let symbol = code.encode(character, &mut sent);
                assert_eq!(code.decode(symbol, &mut received), Ok(character));
                assert_eq!(received, Some(sent));
            }
        }
    }

    #[test]
    fn the_standard_code_keeps_its_promises() {
        // From the 1983 paper: runs of up to 5, sums within 6, and at most five wrong bits in a byte after a
        // single error.
        assert_eq!(longest_run(standard(), |c| matches!(c, Data(_))), 5);
        let (low, high) = excursion(standard(), 2);
        assert_eq!(high - low, 6);
        let (mut unseen, mut longest) = (0, 0);
        for before in BOTH {
            for (character, symbol, _) in following(standard(), before) {
                for bit in 0..BITS {
                    match (character, decode_alone(standard(), symbol ^ 1 << bit, before)) {
                        (Data(sent), Ok(Data(found))) => {
                            let wrong = sent ^ found;
                            assert_ne!(wrong, 0);
                            unseen += 1;
                            longest = longest.max(8 - wrong.leading_zeros() - wrong.trailing_zeros());
                        }
                        (sent, found) => assert_ne!(Ok(sent), found),
                    }
                }
            }
        }
        // This is why a link that corrects single errors needs another code.
        assert!(unseen > 500, "{unseen}");
        assert_eq!(longest, 5);
    }

    #[test]
    fn with_parity_every_single_error_of_every_symbol_is_seen() {
        let code = with_parity();
        let mut errors = 0;
        for before in BOTH {
            for (_, symbol, _) in following(code, before) {
                for bit in 0..BITS {
                    // With either disparity, and with an unknown one.
                    for mut known in [None, Some(Disparity::Minus), Some(Disparity::Plus)] {
                        let found = code.decode(symbol ^ 1 << bit, &mut known);
                        assert_eq!(found, Err(SymbolError::Invalid(symbol ^ 1 << bit)));
                        assert_eq!(known, None);
                        errors += 1;
                    }
                }
            }
        }
        assert_eq!(errors, 2 * 257 * 10 * 3);
    }

    #[test]
    fn with_parity_symbols_are_what_they_are_said_to_be() {
        let code = with_parity();
        let mut kept = 0;
        for &(character, [minus, plus]) in &code.forms {
            assert!(if minus == plus {
                minus.count_ones() == 5
            } else {
                minus.count_ones() == 7 && plus == !minus & 0x3ff
            });
            kept += u32::from(minus == standard_symbol(character, Disparity::Minus));
        }
        assert_eq!(kept, 134);
        assert_eq!(code.forms.iter().filter(|f| f.1[0] == f.1[1]).count(), 232);
        assert_eq!(code.meaning.iter().flatten().count(), 232 + 2 * 25);
        assert_eq!(longest_run(code, |c| c != COMMA), 6);
        let (low, high) = excursion(code, 4);
        assert!(high - low <= 10, "{low} to {high}");
    }

    #[test]
    fn with_parity_the_comma_is_nowhere_else() {
        // In any two symbols, seven adjacent ones or zeros occur only at a comma.
        let code = with_parity();
        for before in BOTH {
            for (a, first, middle) in following(code, before) {
                for (b, second, _) in following(code, middle) {
                    let bits = u32::from(first) << 10 | u32::from(second);
                    for shift in 0..=13 {
                        let seven = bits >> shift & 0x7f;
                        if seven == 0 || seven == 0x7f {
                            assert!(
                                shift == 12 && a == COMMA || shift == 2 && b == COMMA,
                                "{a:?} {b:?} at {shift}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_error_is_counted_once() {
        // After an invalid symbol no further error is reported, with either disparity.
        let code = with_parity();
        for bad in 0..300usize {
            let (mut sent, mut received) = (Disparity::Minus, Some(Disparity::Minus));
            for i in 0..300usize {
                let character = Data((i * 101 + i * i * 7) as u8);
                let symbol = code.encode(character, &mut sent);
                let found = code.decode(symbol ^ u16::from(i == bad) << (i % 10), &mut received);
                if i == bad { assert!(found.is_err()) } else { assert_eq!(found, Ok(character)) }
            }
        }
    }

    #[test]
    fn a_wrong_disparity_is_seen() {
        // Two errors that give a valid symbol are detected no later than at the next unbalanced symbol.
        let code = with_parity();
        let mut seen = 0;
        for (character, symbol, _) in following(code, Disparity::Minus) {
            for pair in (0..10).flat_map(|i| (0..i).map(move |j| 1u16 << i | 1 << j)) {
                let mut received = Some(Disparity::Minus);
                if let Ok(other) = code.decode(symbol ^ pair, &mut received) {
                    assert_ne!(other, character);
                    // The sender continues from the symbol that it sent.
                    let mut sent = after(symbol, BITS, Disparity::Minus);
                    if received != Some(sent) {
                        let next = code.encode(COMMA, &mut sent);
                        assert!(matches!(
                            code.decode(next, &mut received),
                            Err(SymbolError::Disparity { character: COMMA, .. })
                        ));
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
