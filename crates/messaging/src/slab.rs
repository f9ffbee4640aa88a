//! Values with numbers that are reused.

/// Values with numbers that are reused.
#[derive(Debug)]
pub struct Slab<T> {
    pub values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: vec![], free: vec![] }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, value: T) -> u64 {
        if let Some(at) = self.free.pop() {
            self.values[at as usize] = Some(value);
            return u64::from(at);
        }
        self.values.push(Some(value));
        self.values.len() as u64 - 1
    }

    pub fn get(&self, at: u64) -> Option<&T> {
        self.values.get(usize::try_from(at).ok()?)?.as_ref()
    }

    /// The one with the lowest number.
    pub fn first(&self) -> Option<&T> {
        self.values.iter().flatten().next()
    }

    pub fn get_mut(&mut self, at: u64) -> Option<&mut T> {
        self.values.get_mut(usize::try_from(at).ok()?)?.as_mut()
    }

    pub fn remove(&mut self, at: u64) -> Option<T> {
        let value = self.values.get_mut(usize::try_from(at).ok()?)?.take();
        if value.is_some() {
            self.free.push(at as u32);
        }
        value
    }

    pub fn is_empty(&self) -> bool {
        self.free.len() == self.values.len()
    }
}
