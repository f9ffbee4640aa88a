//! Interrupts (sections III.C, III.D and III.G): what the unit tells the processor without being asked. Each kind can be masked, or led to one of
//! three groups.

use std::collections::VecDeque;

/// Something that the unit tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The last packet of a message that asked for it lies in this reception FIFO.
    Arrived(u16),
    /// This injection FIFO has more free room than its threshold.
    InjectionRoom(u16),
    /// This reception FIFO has less free room than its threshold.
    ReceptionRoom(u16),
    /// A collective packet came whose sum did not fit, or is not a number.
    Arithmetic,
    /// Something was refused.
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

/// Groups that interrupts are led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Critical.
    Critical,
    /// Non-critical.
    NonCritical,
    /// Machine check.
    MachineCheck,
}

/// A unit's masks, and what is pending.
#[derive(Default)]
pub(super) struct Interrupts {
    groups: [Option<Group>; KINDS],
    pending: VecDeque<(Group, Interrupt)>,
}

impl Interrupts {
    /// Leads interrupts of the kind of this one to a group, or masks them.
    pub fn lead(&mut self, like: Interrupt, group: Option<Group>) {
        self.groups[like.kind()] = group;
    }

    /// Raises one; returns its group unless it is masked, or others of the group are pending, which the processor knows of.
    pub fn raise(&mut self, interrupt: Interrupt) -> Option<Group> {
        let group = self.groups[interrupt.kind()]?;
        let is_first = !self.is_pending(group);
        self.pending.push_back((group, interrupt));
        is_first.then_some(group)
    }

    /// The first pending one of a group, which is so cleared.
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
