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

/// What all tasks must have alike: the operation, the task whose data goes to all, the length of the data in
/// bytes, and how they are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alike {
    name: &'static str,
    root: Option<u32>,
    bytes: u64,
    combine: Option<Combine>,
}

impl Alike {
    fn of(operation: &Collective) -> Self {
        let (name, root, bytes, combine) = match *operation {
            Collective::Barrier => ("barrier", None, 0, None),
            Collective::Broadcast { root, data } | Collective::Rectangle { root, data } => {
                ("broadcast", Some(root), data.bytes, None)
            }
            Collective::Allreduce { source, combine, .. } => ("allreduce", None, source.bytes, Some(combine)),
            Collective::Reduce { root, source, combine, .. } => {
                ("reduce", Some(root), source.bytes, Some(combine))
            }
        };
        Alike { name, root, bytes, combine }
    }
}

impl fmt::Display for Alike {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}", self.name)?;
        if self.name != "barrier" {
            write!(to, " of {} B", self.bytes)?;
        }
        if let Some(root) = self.root {
            write!(to, " with root {root}")?;
        }
        self.combine.map_or(Ok(()), |combine| {
            write!(to, " by {:?} of words of {} B", combine.operation, combine.word_B)
        })
    }
}

/// An operation in progress: who began it with what, the data of those that contribute, in the order of tasks, the result once it is
/// known, and the tasks that have not taken it.
struct Gathering {
    first: (u32, Alike),
    data: BTreeMap<u32, Arc<[u8]>>,
    result: Option<Arc<[u8]>>,
    left: u32,
}

/// The operations of all tasks of a job, by number.
pub struct Gatherings {
    tasks: u32,
    operations: Mutex<HashMap<u64, Gathering>>,
}

impl Gatherings {
    /// For a job of this number of tasks.
    pub fn new(tasks: u32) -> Self {
        Gatherings { tasks, operations: Mutex::default() }
    }

    /// A task enters an operation, with its data if it contributes.
    ///
    /// # Errors
    /// If another task has begun another operation as this one.
    pub fn enter(
        &self,
        number: u64,
        task: u32,
        operation: &Collective,
        data: Option<Vec<u8>>,
    ) -> Result<(), String> {
        let (alike, mut operations) = (Alike::of(operation), lock(&self.operations));
        let new =
            || Gathering { first: (task, alike), data: BTreeMap::new(), result: None, left: self.tasks };
        let operation = operations.entry(number).or_insert_with(new);
        let (other, of_other) = operation.first;
        if of_other != alike {
            return Err(format!(
                "task {task} has {alike} where task {other} has {of_other}: all tasks begin collective operations in the \
                 same order"
            ));
        }
        operation.data.extend(data.map(|data| (task, data.into())));
        Ok(())
    }

    /// A task is told that an operation has ended. Returns the result: the data of the only one that
    /// contributed, or those of all combined.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn leave(&self, number: u64, combine: Option<Combine>) -> Arc<[u8]> {
        let mut operations = lock(&self.operations);
        let operation = operations.get_mut(&number).expect("it has been entered");
        let result = operation.result.get_or_insert_with(|| combined(&operation.data, combine)).clone();
        operation.left -= 1;
        if operation.left == 0 {
            operations.remove(&number);
        }
        result
    }
}

fn combined(data: &BTreeMap<u32, Arc<[u8]>>, combine: Option<Combine>) -> Arc<[u8]> {
    let Some(Combine { operation, word_B }) = combine else {
        return data.values().next().cloned().unwrap_or_default();
    };
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
    if inputs.is_empty() {
        return Arc::default();
    }
    combine_inputs(&inputs, ByteOrder::HERE).data.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pami::device::Range;
    use netloom_fabric::collective::Operation;

    #[test]
    fn all_get_the_combined_data_once() {
        let gatherings = Gatherings::new(3);
        let range = Range { address: 4096, bytes: 4 };
        let sum = Combine { operation: Operation::AddSigned, word_B: 4 };
        let allreduce = Collective::Allreduce { source: range, target: range, combine: sum };
        let broadcast = |root| Collective::Broadcast { root, data: range };
        for (task, value) in [(2, 30i32), (0, -1), (1, 13)] {
            gatherings.enter(7, task, &allreduce, Some(value.to_ne_bytes().to_vec())).unwrap();
        }
        gatherings.enter(8, 1, &broadcast(1), Some(vec![1, 2, 3, 4])).unwrap();
        gatherings.enter(8, 0, &broadcast(1), None).unwrap();
        let differs = gatherings.enter(8, 2, &broadcast(2), None).unwrap_err();
        let expected =
            "task 2 has broadcast of 4 B with root 2 where task 1 has broadcast of 4 B with root 1: ";
        assert!(differs.starts_with(expected), "{differs}");
        for _ in 0..3 {
            assert_eq!(*gatherings.leave(7, Some(sum)), 42i32.to_ne_bytes());
            assert_eq!(*gatherings.leave(8, None), [1, 2, 3, 4]);
        }
        assert!(lock(&gatherings.operations).is_empty());
    }
}
