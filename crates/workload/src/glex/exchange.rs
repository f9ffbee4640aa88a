//! Random transactions on TH Express NICs: see [`crate::exchange`].

use super::{AT, KEY, refuse};
use crate::exchange::{Exchange, Interface, Kind, Places};
use netloom_fabric::config::ConfigError;
use netloom_messaging::glex::Glex;
use netloom_nic::th::status::{Refusal, Status};
use netloom_nic::th::{Address, Event, Options, Submission};
use netloom_node::process::{Failure, InCall, Outcome};
use netloom_node::time::Microticks;

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
        self.glex.now().0 as f64 * self.ns_per_microtick
    }

    fn now(&self) -> Microticks {
        self.glex.now()
    }

    fn measure(&self, of: u64, value: u64) {
        self.glex.measure(of, value);
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

    async fn put(&self, to: u32, places: Places, id: u32) -> Outcome {
        let (to, places, options) = self.request(to, places, id);
        let put = self.glex.put(self.endpoint, to, places, options).await;
        put.in_call("put")?;
        Ok(())
    }

    async fn get(&self, to: u32, places: Places, id: u32) -> Outcome {
        let (to, places, options) = self.request(to, places, id);
        let get = self.glex.get(self.endpoint, to, places, options).await;
        get.in_call("get")?;
        Ok(())
    }

    async fn add(&self, _: u32, _: Places, _: u64, _: u32) -> Outcome {
        unreachable!("it is refused: see `check`")
    }

    async fn ended(&self) -> Result<(u32, bool), Failure> {
        Self::reported(self.glex.wait_event(self.endpoint).await)
            .ok_or_else(|| Failure::new("wait_event", "no event came"))
    }

    async fn ended_within(&self, ns: f64) -> Result<Option<(u32, bool)>, Failure> {
        let milliticks = (ns / self.ns_per_microtick / 1000.0) as u64;
        Ok(Self::reported(self.glex.wait_event_for(self.endpoint, milliticks).await))
    }

    fn tells_of_gets(&self) -> bool {
        self.connect
    }
}

impl OnTh {
    fn request(&self, to: u32, places: Places, id: u32) -> (Address, (u64, u64, u64), Options) {
        let options = Options { local_event: Some(id), connect: self.connect, ..Options::default() };
        let to = Address { node: to, vp: self.endpoint, key: KEY };
        (to, (AT + places.local, AT + places.remote, places.bytes), options)
    }

    fn reported(event: Result<Event, Refusal>) -> Option<(u32, bool)> {
        match event {
            Ok(event) => Some((event.user, event.status == Status::Success)),
            Err(Refusal::Empty) => None,
            Err(why) => panic!("there is room for all: {why}"),
        }
    }
}

/// Checks for operations that this interface does not support.
pub(super) fn check(config: &Exchange) -> Result<(), ConfigError> {
    if config.has(Kind::Atomic) {
        return refuse(
            "kinds",
            "expected \"put\" or \"get\", since TH Express NICs have no atomic operations, found \"atomic\"",
        );
    }
    if config.has(Kind::Get) && !config.connect && config.give_up_us == 0.0 {
        return refuse(
            "give_up_us",
            "expected more than 0 for gets without connections, since lost ones are not reported, found 0",
        );
    }
    Ok(())
}

pub(super) async fn run(glex: Glex, config: Exchange, ticks_per_second: u64) -> Outcome {
    let endpoint = glex.create_endpoint(Submission::Dma, KEY, 1 << 12).in_call("create_endpoint")?;
    glex.register(endpoint, AT, config.memory(glex.nodes()), true).in_call("nodes")?;
    let ns_per_microtick = 1e3 / ticks_per_second as f64;
    let nic = OnTh { glex, endpoint, connect: config.connect, ns_per_microtick };
    crate::exchange::run(nic, config).await?;
    Ok(())
}
