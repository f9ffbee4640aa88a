//! Handles that the program makes: the kind in the upper bits, so that each is known for what it is; none is
//! in the range of predefined handles, and each fits an `int`, as `MPI_Comm_toint` and its kin need.

/// The objects of one kind, by handle. The handle of an object that was removed is given to another.
pub struct Handles<T> {
    kind: usize,
    objects: Vec<Option<T>>,
}

impl<T> Handles<T> {
    /// None, with handles from `kind` on.
    pub const fn new(kind: usize) -> Self {
        Handles { kind, objects: vec![] }
    }

    /// The handle of a new object.
    pub fn insert(&mut self, object: T) -> usize {
        let at = self.objects.iter().position(Option::is_none).unwrap_or(self.objects.len());
        if at == self.objects.len() {
            self.objects.push(None);
        }
        self.objects[at] = Some(object);
        self.kind | at
    }

    /// The object of a handle.
    pub fn get(&self, handle: usize) -> Option<&T> {
        self.objects.get(handle.wrapping_sub(self.kind))?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        self.objects.get_mut(handle.wrapping_sub(self.kind))?.as_mut()
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.objects.iter().flatten().count()
    }

    /// All objects, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.objects.iter_mut().flatten()
    }

    /// Takes away all but these.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.objects.iter_mut().for_each(|object| _ = object.take_if(|object| !is_kept(object)));
    }

    /// Takes the object of a handle away.
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        self.objects.get_mut(handle.wrapping_sub(self.kind))?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_name_objects_of_their_kind_alone() {
        let (mut letters, mut words) = (Handles::new(0x100), Handles::new(0x200));
        let (a, b) = (letters.insert('a'), letters.insert('b'));
        let word = words.insert("word");
        assert_eq!((a, b, word), (0x100, 0x101, 0x200));
        assert_eq!((letters.get(word), letters.get(0), words.get(a)), (None, None, None));
        assert_eq!((letters.remove(a), letters.remove(a), letters.get(a)), (Some('a'), None, None));
        assert_eq!((letters.insert('c'), letters.get(b)), (a, Some(&'b')));
        *letters.get_mut(b).unwrap() = 'd';
        assert_eq!(letters.get(b), Some(&'d'));
    }
}
