//! The memory checker (section 2.3): items with key, access rights, base and top page, against which each
//! address is checked before translation.

use super::status::Refusal;

/// Size of a page, bytes.
pub const PAGE_B: u64 = 4096;

/// An item: registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub vp: u8,
    pub key: u16,
    pub may_write: bool,
    /// From the time at which the NIC has it until it is removed.
    pub is_valid: bool,
    pub base: u64,
    pub top: u64,
}

/// The items; `None` for invalid ones.
#[derive(Default)]
pub struct Checker {
    items: Vec<Option<Item>>,
}

impl Checker {
    /// Writes an item; returns its number.
    pub fn insert(&mut self, item: Item, most: u32) -> Result<u16, Refusal> {
        let free = self.items.iter().position(Option::is_none).unwrap_or(self.items.len());
        if free >= most as usize {
            return Err(Refusal::Exhausted);
        }
        if free == self.items.len() {
            self.items.push(None);
        }
        self.items[free] = Some(item);
        Ok(free as u16)
    }

    /// Invalidates an item.
    pub fn remove(&mut self, number: u16, vp: u8) -> Result<Item, Refusal> {
        let slot = self.items.get_mut(usize::from(number)).ok_or(Refusal::NotOwned)?;
        slot.take_if(|item| item.vp == vp).ok_or(Refusal::NotOwned)
    }

    /// An item of a virtual port.
    pub fn owned(&mut self, number: u16, vp: u8) -> Result<&mut Item, Refusal> {
        let item = self.items.get_mut(usize::from(number)).and_then(Option::as_mut);
        item.filter(|item| item.vp == vp).ok_or(Refusal::NotOwned)
    }

    /// An item of any virtual port.
    pub fn item(&mut self, number: u16) -> Option<&mut Item> {
        self.items.get_mut(usize::from(number))?.as_mut()
    }

    /// Whether a virtual port's key allows reading, or writing, all of these bytes.
    pub fn allows(&self, vp: u8, key: u16, address: u64, bytes: u64, write: bool) -> bool {
        let (first, last) = (address / PAGE_B, (address + bytes.max(1) - 1) / PAGE_B);
        self.items.iter().flatten().any(|item| {
            item.is_valid
                && (item.vp, item.key) == (vp, key)
                && (item.may_write || !write)
                && item.base <= first
                && last <= item.top
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_registered_is_allowed_until_it_is_not() {
        let mut checker = Checker::default();
        let item = Item { vp: 3, key: 9, may_write: false, is_valid: true, base: 4, top: 5 };
        let number = checker.insert(item, 1).expect("free");
        assert_eq!(checker.insert(item, 1), Err(Refusal::Exhausted));
        assert!(checker.allows(3, 9, 4 * PAGE_B, 2 * PAGE_B, false));
        assert!(!checker.allows(3, 9, 4 * PAGE_B, 2 * PAGE_B, true), "read only");
        assert!(!checker.allows(3, 8, 4 * PAGE_B, 1, false), "another key");
        assert!(!checker.allows(3, 9, 6 * PAGE_B - 1, 2, false), "above its top");
        assert_eq!(checker.remove(number, 2), Err(Refusal::NotOwned));
        assert_eq!(checker.remove(number, 3), Ok(item));
        assert!(!checker.allows(3, 9, 4 * PAGE_B, 1, false));
    }
}
