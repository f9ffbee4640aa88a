//! Interrupts (sections III.C, III.D and III.G) of the processor by the unit. Each kind can be masked, or
//! directed to one of three groups.

use std::collections::VecDeque;

/// The cause of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The last packet of a message that requested it is in this reception FIFO.
    Arrived(u16),
    /// This injection FIFO has more free space than its threshold.
    InjectionRoom(u16),
    /// This reception FIFO has less free space than its threshold.
    ReceptionRoom(u16),
    /// A collective packet arrived whose sum overflowed or is a NaN.
    Arithmetic,
    /// A protection violation.
    Refused,
}

/// Kinds of interrupts.
pub const KINDS: usize = 5;

impl Interrupt {
    fn kind(self) -> usize {
        match self {
            Interrupt::Arrived(_) => 0,
            Interrupt::InjectionRoom(_) => 1,
            Interrupt::ReceptionRoom(_) => 2,
            Interrupt::Arithmetic => 3,
            Interrupt::Refused => 4,
        }
    }
}

/// Groups to which interrupts are directed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Critical.
    Critical,
    /// Non-critical.
    NonCritical,
    /// Machine check.
    MachineCheck,
}

/// A unit's masks and pending interrupts.
#[derive(Default)]
pub(super) struct Interrupts {
    groups: [Option<Group>; KINDS],
    pending: VecDeque<(Group, Interrupt)>,
}

impl Interrupts {
    /// Directs interrupts of the same kind as `like` to a group, or masks them.
    pub fn lead(&mut self, like: Interrupt, group: Option<Group>) {
        self.groups[like.kind()] = group;
    }

    /// Raises an interrupt; returns its group unless it is masked, or others of the group are pending, which
    /// the processor already knows of.
    pub fn raise(&mut self, interrupt: Interrupt) -> Option<Group> {
        let group = self.groups[interrupt.kind()]?;
        let is_first = !self.is_pending(group);
        self.pending.push_back((group, interrupt));
        is_first.then_some(group)
    }

    /// Takes and clears the first pending interrupt of a group.
    pub fn take(&mut self, group: Group) -> Option<Interrupt> {
        let at = self.pending.iter().position(|(g, _)| *g == group)?;
        self.pending.remove(at).map(|(_, interrupt)| interrupt)
    }

    pub fn is_pending(&self, group: Group) -> bool {
        self.pending.iter().any(|(g, _)| *g == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_masked_and_grouped() {
        let mut i = Interrupts::default();
        assert_eq!(i.raise(Interrupt::Arithmetic), None);
        i.lead(Interrupt::Arrived(0), Some(Group::Critical));
        i.lead(Interrupt::Arithmetic, Some(Group::MachineCheck));
        assert_eq!(i.raise(Interrupt::Arrived(7)), Some(Group::Critical));
        assert_eq!(i.raise(Interrupt::Arithmetic), Some(Group::MachineCheck));
        assert_eq!(i.raise(Interrupt::Arrived(8)), None);
        assert_eq!(i.take(Group::NonCritical), None);
        assert_eq!(
            [i.take(Group::Critical), i.take(Group::Critical)],
            [7, 8].map(|f| Some(Interrupt::Arrived(f)))
        );
        assert!(i.is_pending(Group::MachineCheck) && !i.is_pending(Group::Critical));
    }
}
