//! The data of collective operations that network interfaces execute: it travels beside the simulation, as
//! that of packets does. The hardware lets nobody out before all have entered, so all data is there when the
//! first task is told of the end.

use crate::pami::device::{Collective, Combine};
use netloom_fabric::collective::{
    ByteOrder, CollectiveHeader, Delivers, Flags, RouteKind, combine as combine_inputs,
};
use netloom_node::program::lock;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

/// What all tasks must give alike: the operation, the length of its data in bytes, and how they are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signature {
    name: &'static str,
    bytes: u64,
    combine: Option<Combine>,
}

impl Signature {
    fn of(operation: &Collective) -> Self {
        let (name, bytes, combine) = match *operation {
            Collective::Barrier => ("a barrier", 0, None),
            Collective::Allreduce { source, combine, .. } => ("an allreduce", source.bytes, Some(combine)),
            other => unreachable!("{other:?} has been refused"),
        };
        Signature { name, bytes, combine }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}", self.name)?;
        self.combine.map_or(Ok(()), |Combine { operation, word_B }| {
            write!(to, " of {} B by {operation:?} of words of {word_B} B", self.bytes)
        })
    }
}

/// An operation in progress: who began it with what, the data of each task in order, the result once it is
/// known, and the number of tasks that have not taken it.
struct InProgress {
    first: (u32, Signature),
    data: BTreeMap<u32, Arc<[u8]>>,
    result: Option<Arc<[u8]>>,
    left: u32,
}

/// The data of the operations of all tasks of a job, by number.
pub struct CollectiveData {
    tasks: u32,
    operations: Mutex<HashMap<u64, InProgress>>,
}

impl CollectiveData {
    /// For a job of this number of tasks.
    pub fn new(tasks: u32) -> Self {
        CollectiveData { tasks, operations: Mutex::default() }
    }

    /// A task enters an operation with its data.
    ///
    /// # Errors
    /// If another task has begun another operation as this one.
    pub fn enter(&self, number: u64, task: u32, operation: &Collective, data: Vec<u8>) -> Result<(), String> {
        let (own, mut operations) = (Signature::of(operation), lock(&self.operations));
        let new = || InProgress { first: (task, own), data: BTreeMap::new(), result: None, left: self.tasks };
        let operation = operations.entry(number).or_insert_with(new);
        let (other, of_other) = operation.first;
        if of_other != own {
            return Err(format!(
                "task {task} begins {own} where task {other} begins {of_other}: all tasks begin collective \
                 operations in the same order"
            ));
        }
        operation.data.insert(task, data.into());
        Ok(())
    }

    /// A task is told that an operation has ended. Returns the result: the data of all combined.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn leave(&self, number: u64, combine: Combine) -> Arc<[u8]> {
        let mut operations = lock(&self.operations);
        let operation = operations.get_mut(&number).expect("it has been entered");
        let result = operation.result.get_or_insert_with(|| combined(&operation.data, combine)).clone();
        self.left(&mut operations, number);
        result
    }

    /// The same of a barrier, which has no result.
    pub fn leave_barrier(&self, number: u64) {
        self.left(&mut lock(&self.operations), number);
    }

    fn left(&self, operations: &mut HashMap<u64, InProgress>, number: u64) {
        let operation = operations.get_mut(&number).expect("it has been entered");
        operation.left -= 1;
        if operation.left == 0 {
            operations.remove(&number);
        }
    }
}

/// The data of all tasks combined.
fn combined(data: &BTreeMap<u32, Arc<[u8]>>, Combine { operation, word_B }: Combine) -> Arc<[u8]> {
    let header = CollectiveHeader {
        class: 0,
        kind: RouteKind::UserSubcomm,
        operation,
        word_B,
        delivers: Delivers::AllReduce,
        chunks: 0,
        flags: Flags::default(),
    };
    let inputs: Vec<_> = data.values().map(|data| (header, Some(Arc::clone(data)))).collect();
    combine_inputs(&inputs, ByteOrder::HERE).data.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pami::device::Range;
    use netloom_fabric::collective::Operation;

    #[test]
    fn all_get_the_combined_data_once() {
        let data = CollectiveData::new(3);
        let range = Range { address: 4096, bytes: 4 };
        let sum = Combine { operation: Operation::AddSigned, word_B: 4 };
        let allreduce = Collective::Allreduce { source: range, target: range, combine: sum };
        for (task, value) in [(2, 30i32), (0, -1), (1, 13)] {
            data.enter(7, task, &allreduce, value.to_ne_bytes().to_vec()).unwrap();
        }
        data.enter(8, 1, &Collective::Barrier, vec![]).unwrap();
        data.enter(8, 0, &Collective::Barrier, vec![]).unwrap();
        let differs = data.enter(8, 2, &allreduce, vec![0; 4]).unwrap_err();
        let expected =
            "task 2 begins an allreduce of 4 B by AddSigned of words of 4 B where task 1 begins a barrier: ";
        assert!(differs.starts_with(expected), "{differs}");
        for _ in 0..3 {
            assert_eq!(*data.leave(7, sum), 42i32.to_ne_bytes());
            data.leave_barrier(8);
        }
        assert!(lock(&data.operations).is_empty());
    }
}
