//! Writes the text form.

use std::io::{self, Write};

use super::{ANY, COLLECTIVES, Kind, Trace};
use crate::skeleton::collective::Operation;

/// Writes a trace as GOAL text: the operations of each rank in order, labelled `l1`, `l2` and so on, then its
/// dependencies. Parsing it gives the same trace again.
///
/// # Errors
/// Those of the writer.
pub fn write_text(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", trace.ranks().len())?;
    for (number, rank) in trace.ranks().iter().enumerate() {
        writeln!(out, "\nrank {number} {{")?;
        for (label, node) in (1..).zip(rank.nodes()) {
            let label: u32 = label;
            match node.kind {
                Kind::Calc => write!(out, "l{label}: calc {}", node.size)?,
                Kind::Send => write!(out, "l{label}: send {}b to {}", node.size, node.peer)?,
                Kind::Receive if node.peer == ANY => write!(out, "l{label}: recv {}b from -1", node.size)?,
                Kind::Collective => {
                    let (word, operation) = COLLECTIVES[node.peer as usize];
                    write!(out, "l{label}: {word}")?;
                    if operation != Operation::Barrier {
                        let blocks = node.blocks(trace.ranks().len() as u32) as usize;
                        let own = &rank.nodes()[label as usize - 1..][..=blocks];
                        own.iter().try_for_each(|block| write!(out, " {}b", block.size))?;
                    }
                }
                Kind::Block => continue,
                Kind::Receive => write!(out, "l{label}: recv {}b from {}", node.size, node.peer)?,
            }
            match node.tag {
                0 => {}
                ANY => write!(out, " tag -1")?,
                tag => write!(out, " tag {tag}")?,
            }
            if node.cpu != 0 {
                write!(out, " cpu {}", node.cpu)?;
            }
            if node.nic != 0 {
                write!(out, " nic {}", node.nic)?;
            }
            writeln!(out)?;
        }
        for node in 0..rank.nodes().len() as u32 {
            for (word, waiting) in
                [("requires", rank.after_finish(node)), ("irequires", rank.after_start(node))]
            {
                for &waiter in waiting {
                    writeln!(out, "l{} {word} l{}", waiter + 1, node + 1)?;
                }
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}
