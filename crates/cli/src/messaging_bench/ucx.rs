//! The figures of `ucx_perftest` between the same cores, if it is installed.

use super::Case;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "ucx_perftest";
/// Over POSIX shared memory, in two copies; with one copy by the kernel for long messages.
const TRANSPORTS: [(&str, &str); 2] = [("posix", "UCX, posix"), ("posix,cma", "UCX, posix and cma")];
/// Most time for one measurement.
const LIMIT: Duration = Duration::from_secs(30);

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its figures, or why there are none.
pub fn run(cores: [usize; 2], quick: bool) -> Result<Vec<Case>, String> {
    if Command::new(PROGRAM).arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Err(format!("{PROGRAM} is not installed."));
    }
    let mut cases = vec![];
    for (transports, name) in TRANSPORTS {
        let mut add = |what: &str, bytes: usize, value: f64, unit: &str| {
            let (name, unit) = (format!("{name}: {what}"), unit.into());
            cases.push(Case { name, bytes, value, unit, reference: None, ratio: None });
        };
        let share = if quick { 10 } else { 1 };
        if transports == "posix" {
            let latency = measure(transports, "tag_lat", 8, 1_000_000 / share, cores)?;
            add("tag, half round trip", 8, latency.latency_us * 1e3, "ns");
            let rate = measure(transports, "tag_bw", 8, 5_000_000 / share, cores)?;
            add("tag, message rate", 8, rate.messages_per_s, "1/s");
        }
        for bytes in [1 << 16, 1 << 20] {
            let count = (2_000_000_000 / bytes / share).max(100);
            let bandwidth = measure(transports, "tag_bw", bytes, count, cores)?;
            add("tag, bandwidth", bytes, bandwidth.messages_per_s * bytes as f64, "B/s");
        }
    }
    Ok(cases)
}

/// The last line of its output.
#[derive(Debug, PartialEq)]
struct Final {
    latency_us: f64,
    messages_per_s: f64,
}

/// Reads `Final: iterations, p50, average and overall latency, two bandwidths, two message rates`.
fn parse(output: &str) -> Option<Final> {
    let line = output.lines().rev().find_map(|line| line.trim().strip_prefix("Final:"))?;
    let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    match *numbers {
        [_, _, _, latency_us, _, _, _, messages_per_s] => Some(Final { latency_us, messages_per_s }),
        _ => None,
    }
}

fn measure(
    transports: &str,
    test: &str,
    bytes: usize,
    count: usize,
    cores: [usize; 2],
) -> Result<Final, String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = free.map_err(|error| format!("no free port for {PROGRAM}: {error}."))?.port().to_string();
    let command = |core: usize| {
        let mut command = Command::new(PROGRAM);
        command.args(["-t", test, "-s", &bytes.to_string(), "-n", &count.to_string()]);
        command.args(["-c", &core.to_string(), "-p", &port]).env("UCX_TLS", transports);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let cannot = |error| format!("{PROGRAM} cannot be run: {error}.");
    let began = Instant::now();
    let _server = Running(command(cores[1]).spawn().map_err(cannot)?);
    // Until the server listens, the client ends at once.
    while began.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(100));
        let mut client = command(cores[0]);
        let mut client = Running(client.arg("127.0.0.1").stdout(Stdio::piped()).spawn().map_err(cannot)?);
        while began.elapsed() < LIMIT && client.0.try_wait().map_err(cannot)?.is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut output = String::new();
        if began.elapsed() < LIMIT
            && let Some(mut pipe) = client.0.stdout.take()
        {
            std::io::Read::read_to_string(&mut pipe, &mut output).map_err(cannot)?;
        }
        if let Some(figures) = parse(&output) {
            return Ok(figures);
        }
    }
    Err(format!("`{PROGRAM} -t {test}` printed no result within {} s.", LIMIT.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_the_figures() {
        let output = "|    Stage     | # iterations |\n\
            [thread 0]    100    0.2 0.2 0.2 1 1 1 1\n\
            Final:                200000      0.151     0.152     0.153       50.62      50.62     6635376     6635377\n";
        assert_eq!(parse(output), Some(Final { latency_us: 0.153, messages_per_s: 6_635_377.0 }));
        assert_eq!(parse("connect() failed\n"), None);
    }
}
