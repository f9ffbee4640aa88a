//! Puts at random on TH Express NICs: see [`crate::exchange`].

use super::{AT, KEY};
use crate::exchange::{Exchange, Interface};
use netloom_nic::th::glex::Glex;
use netloom_nic::th::status::Status;
use netloom_nic::th::{Address, Options, Submission};

struct OnTh {
    glex: Glex,
    endpoint: u8,
    connect: bool,
    ns_per_microtick: f64,
}

impl Interface for OnTh {
    fn node(&self) -> u32 {
        self.glex.node()
    }

    fn nodes(&self) -> u32 {
        self.glex.nodes()
    }

    fn now_ns(&self) -> f64 {
        self.glex.now_microticks() as f64 * self.ns_per_microtick
    }

    fn now_microticks(&self) -> u64 {
        self.glex.now_microticks()
    }

    fn note(&self, of: u64, value: u64) {
        self.glex.note(of, value);
    }

    fn store(&self, at: u64, bytes: &[u8]) {
        self.glex.store(AT + at, bytes);
    }

    fn load(&self, at: u64, bytes: usize) -> Vec<u8> {
        self.glex.load(AT + at, bytes)
    }

    async fn sleep_ns(&self, ns: f64) {
        self.glex.compute_milliticks((ns.max(0.0) / self.ns_per_microtick / 1000.0) as u64).await;
    }

    async fn put(&self, to: u32, local: u64, remote: u64, bytes: u64, slot: u32) {
        let options = Options { local_event: Some(slot), connect: self.connect, ..Options::default() };
        let to = Address { node: to, vp: self.endpoint, key: KEY };
        let places = (AT + local, AT + remote, bytes);
        self.glex.put(self.endpoint, to, places, options).await.expect("fewer than the port has room for");
    }

    async fn ended(&self) -> (u32, bool) {
        let event = self.glex.wait_event(self.endpoint).await.expect("there is room for all");
        (event.user, event.status == Status::Success)
    }
}

pub(super) async fn run(glex: Glex, config: Exchange, ticks_per_second: u64) {
    let endpoint = glex.create_endpoint(Submission::Dma, KEY, 1 << 12).expect("the first");
    glex.register(endpoint, AT, config.memory(glex.nodes()), true).expect("the first");
    let ns_per_microtick = 1e3 / ticks_per_second as f64;
    let nic = OnTh { glex, endpoint, connect: config.connect, ns_per_microtick };
    crate::exchange::run(nic, config).await;
}
