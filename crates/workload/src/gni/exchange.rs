//! Random transactions on Aries NICs: see [`crate::exchange`].

use super::{AT, register, sign_on};
use crate::exchange::{Exchange, Interface, Places};
use netloom_messaging::gni::{Endpoint, Gni, Post, PostKind};
use netloom_nic::aries::address::{MemHandle, PageSize};
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::status::Status;
use netloom_node::process::{Failure, InCall, Outcome};
use netloom_node::time::Microticks;

/// Maximum size of a put or get by the core's own stores, bytes: larger ones use the block transfer engine.
const FMA_MAX_B: u64 = 4096;

struct OnAries {
    gni: Gni,
    memory: MemHandle,
    queue: u16,
    ns_per_microtick: f64,
}

impl Interface for OnAries {
    fn node(&self) -> u32 {
        self.gni.place()
    }

    fn nodes(&self) -> u32 {
        self.gni.job().nodes()
    }

    fn now_ns(&self) -> f64 {
        self.gni.now().0 as f64 * self.ns_per_microtick
    }

    fn now(&self) -> Microticks {
        self.gni.now()
    }

    fn measure(&self, of: u64, value: u64) {
        self.gni.measure(of, value);
    }

    fn store(&self, at: u64, bytes: &[u8]) {
        self.gni.store(AT + at, bytes);
    }

    fn load(&self, at: u64, bytes: usize) -> Vec<u8> {
        self.gni.load(AT + at, bytes)
    }

    async fn sleep_ns(&self, ns: f64) {
        self.gni.compute_milliticks((ns.max(0.0) / self.ns_per_microtick / 1000.0) as u64).await;
    }

    async fn put(&self, to: u32, places: Places, id: u32) -> Outcome {
        self.post(to, places, id, (PostKind::FmaPut, PostKind::RdmaPut)).await?;
        Ok(())
    }

    async fn get(&self, to: u32, places: Places, id: u32) -> Outcome {
        self.post(to, places, id, (PostKind::FmaGet, PostKind::RdmaGet)).await?;
        Ok(())
    }

    async fn add(&self, to: u32, places: Places, addend: u64, id: u32) -> Outcome {
        let add = PostKind::Amo(Amo::new(AmoKind::Add).fetching(), [addend, 0]);
        self.post(to, places, id, (add, add)).await?;
        Ok(())
    }

    async fn ended(&self) -> Result<(u32, bool), Failure> {
        let event = self.gni.cq_wait_event(self.queue).await.in_call("cq_wait_event")?;
        Ok((event.user as u32, event.status == Status::Success))
    }

    async fn ended_within(&self, _: f64) -> Result<Option<(u32, bool)>, Failure> {
        Ok(Some(self.ended().await?))
    }

    fn tells_of_gets(&self) -> bool {
        // A request without a response times out.
        true
    }
}

impl OnAries {
    /// Posts an operation of one of two kinds: a short one, or one of the block transfer engine.
    async fn post(&self, to: u32, places: Places, id: u32, (short, long): (PostKind, PostKind)) -> Outcome {
        let Places { local, remote, bytes } = places;
        let is_short = bytes <= FMA_MAX_B;
        let kind = if is_short { short } else { long };
        let post = Post {
            queue: Some(self.queue),
            id: id.into(),
            ..Post::new(kind, AT + local, AT + remote, self.memory, bytes)
        };
        let to = Endpoint::new(to, self.gni.process());
        let posted = match is_short {
            true => self.gni.post_fma(to, post).await,
            false => self.gni.post_rdma(to, post).await,
        };
        posted.in_call("post_rdma")?;
        Ok(())
    }
}

pub(super) async fn run(gni: Gni, config: Exchange, ticks_per_second: u64) -> Outcome {
    sign_on(&gni)?;
    let memory = register(&gni, config.memory(gni.job().nodes()), PageSize::HUGE)?;
    let queue = gni.cq_create(2 * config.outstanding as usize);
    let nic = OnAries { gni, memory, queue, ns_per_microtick: 1e3 / ticks_per_second as f64 };
    crate::exchange::run(nic, config).await?;
    Ok(())
}
