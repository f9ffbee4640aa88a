//! The device: its buffers, the kernel, and the windows that it goes through.

use crate::counts::{Counts, Reader};
use crate::parameters::{Parameters, Traffic, Unsupported, logarithms};
use crate::words::{BINS, FIFOS, PORTS, Words};
use netloom_engine::Stream;
use netloom_fabric::config::TorusConfig;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// The kernel, without the constants that it is compiled for.
const KERNEL: [&str; 6] = [
    include_str!("kernel/state.wgsl"),
    include_str!("kernel/random.wgsl"),
    include_str!("kernel/traffic.wgsl"),
    include_str!("kernel/link.wgsl"),
    include_str!("kernel/arbitrate.wgsl"),
    include_str!("kernel/main.wgsl"),
];

/// Windows that are given to the device at once: so few that an interrupt is soon obeyed.
const WINDOWS_AT_ONCE: u32 = 256;

/// The purpose of the nodes' random streams, and of the orders of their destinations; others are the fabric's.
const STREAMS: [u64; 2] = [40, 41];

/// The longest run, ticks: some 24 s of BlueGene/L. Times in the kernel have 32 bits, and those of packets that
/// are due lie ahead, in open loop by up to 2^24 ticks.
pub const TICKS_MAX: u64 = u32::MAX as u64 - (1 << 26);

/// Why a machine is not simulated.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The kernel does not support it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There is no device.
    #[error("no GPU was found: no driver for Vulkan or Metal is installed, or it has no device")]
    NoDevice,
    /// It has not enough memory, or refuses.
    #[error("{device} refused: {why}")]
    Refused {
        /// Its name.
        device: String,
        /// What it said.
        why: String,
    },
}

/// A machine on a device.
pub struct Machine {
    parameters: Parameters,
    words: Words,
    name: String,
    is_software: bool,
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    goal: wgpu::Buffer,
    state: wgpu::Buffer,
    bins: wgpu::Buffer,
    staging: wgpu::Buffer,
    now: u32,
    reader: Reader,
    counts: Counts,
}

/// How much better a kind of device is than others.
fn rank(adapter: &wgpu::Adapter) -> u32 {
    match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 4,
        wgpu::DeviceType::IntegratedGpu => 3,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 1,
        wgpu::DeviceType::Cpu => 0,
    }
}

impl Machine {
    /// An idle machine at tick zero, on the best device of this computer.
    ///
    /// # Errors
    /// What is not supported; no device; one that is too small.
    pub fn new(config: &TorusConfig, traffic: Traffic, seed: u64) -> Result<Self, DeviceError> {
        let parameters = Parameters::new(config, traffic)?;
        let words = Words::new(&parameters);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let adapter = adapters.into_iter().max_by_key(rank).ok_or(DeviceError::NoDevice)?;
        let info = adapter.get_info();
        let refused = |why: String| DeviceError::Refused { device: info.name.clone(), why };
        let nodes = u64::from(parameters.nodes);
        let state_bytes = nodes * u64::from(words.total) * 4;
        let mail_bytes = 2 * nodes * u64::from(PORTS * words.mail) * 4;
        let most = state_bytes.max(mail_bytes);
        let limits = wgpu::Limits {
            max_storage_buffer_binding_size: most.max(128 << 20),
            max_buffer_size: most.max(256 << 20),
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(|e| refused(e.to_string()))?;

        let mut source = parameters.constants(&words);
        KERNEL.iter().for_each(|part| source.push_str(part));
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = |bytes: u64, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes,
                usage,
                mapped_at_creation: false,
            })
        };
        let storage =
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let state = buffer(state_bytes, storage);
        let mail = buffer(mail_bytes, storage);
        let bins = buffer(u64::from(2 * BINS) * 4, storage);
        let goal = buffer(16, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = buffer(nodes * u64::from(words.counted) * 4 + bins.size(), read);
        let table = device.create_buffer_init(&BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(&logarithms()),
            usage: wgpu::BufferUsages::STORAGE,
        });
        if let Some(e) = pollster::block_on(memory.pop()) {
            return Err(refused(e.to_string()));
        }
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("torus"),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("window"),
            layout: None,
            module: &module,
            entry_point: Some("window"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries: Vec<wgpu::BindGroupEntry> = [&state, &mail, &bins, &goal, &table]
            .into_iter()
            .zip(0..)
            .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let machine = Machine {
            is_software: info.device_type == wgpu::DeviceType::Cpu,
            name: info.name,
            parameters,
            words,
            device,
            queue,
            pipeline,
            bindings,
            goal,
            state,
            bins,
            staging,
            now: 0,
            reader: Reader::default(),
            counts: Counts::default(),
        };
        machine.fill(seed);
        Ok(machine)
    }

    /// The name of the device.
    pub fn device(&self) -> &str {
        &self.name
    }

    /// Whether it is a driver that runs on the processor.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// Bytes of a node on the device.
    pub fn bytes_per_node(&self) -> u64 {
        u64::from(self.words.total + 2 * PORTS * self.words.mail) * 4
    }

    /// The next tick.
    pub fn now(&self) -> u64 {
        self.now.into()
    }

    /// Begins to look for the least and the greatest latency anew.
    pub fn restart_extremes(&self) {
        let nodes = self.parameters.nodes as usize;
        for [least, greatest] in [["LATENCY_MIN", "LATENCY_MAX"], ["NETWORK_MIN", "NETWORK_MAX"]] {
            self.write(self.words.at(least), &vec![u32::MAX; nodes]);
            self.write(self.words.at(greatest), &vec![0; nodes]);
        }
    }

    /// Writes a word of all nodes.
    fn write(&self, word: usize, values: &[u32]) {
        let at = word as u64 * u64::from(self.parameters.nodes) * 4;
        self.queue.write_buffer(&self.state, at, bytemuck::cast_slice(values));
    }

    /// The state at tick zero, where it is not zero.
    fn fill(&self, seed: u64) {
        let (of, words) = (&self.parameters, &self.words);
        let nodes = of.nodes as usize;
        let all = |value: u32| vec![value; nodes];
        self.write(words.at("ASKS"), &all(1));
        self.restart_extremes();
        let tokens = (0..of.dynamic_vcs).map(|vc| of.capacity[0] << (8 * vc)).sum::<u32>()
            + (of.capacity[1] << (8 * of.dynamic_vcs));
        for port in 0..PORTS as usize {
            let port = words.at("PORT") + port * words.at("PORT_WORDS");
            self.write(port + words.at("TOKENS"), &all(tokens));
        }
        let mut streams: Vec<Stream> =
            (0..nodes as u64).map(|node| Stream::new(seed, STREAMS[0], node)).collect();
        for half in 0..2 {
            // All zero would stay so.
            let drawn: Vec<u32> = streams.iter_mut().map(|stream| (stream.draw() as u32).max(1)).collect();
            self.write(words.at("RANDOM") + half, &drawn);
        }
        let mut orders: Vec<Stream> =
            (0..nodes as u64).map(|node| Stream::new(seed, STREAMS[1], node)).collect();
        for round in 0..4 {
            let keys: Vec<u32> = orders.iter_mut().map(|stream| stream.draw() as u32).collect();
            self.write(words.at("ORDER") + round, &keys);
        }
        for fifo in 0..FIFOS {
            let at = words.at("FIFO") + fifo as usize * words.at("FIFO_WORDS");
            self.write(at + words.at("INDEX"), &all(fifo));
            if let Some(interval) = of.interval {
                let first: Vec<u32> = streams
                    .iter_mut()
                    .map(|stream| (interval * stream.exponential()).ceil() as u32)
                    .collect();
                self.write(at + words.at("NEXT"), &first);
            }
        }
    }

    /// Runs up to a tick; between two batches of windows `stop` is asked whether to end, at the tick that
    /// [`Self::now`] then tells. Reads what has been counted.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If it is after [`TICKS_MAX`].
    pub fn run_until(&mut self, tick: u64, stop: &dyn Fn() -> bool) -> Result<&Counts, DeviceError> {
        assert!(tick <= TICKS_MAX, "a run of at most {TICKS_MAX} ticks");
        let end = tick as u32;
        while self.now < end && !stop() {
            let left = (end - self.now).div_ceil(self.parameters.window());
            let windows = left.min(WINDOWS_AT_ONCE);
            let to = self.now.saturating_add(windows * self.parameters.window()).min(end);
            self.queue.write_buffer(&self.goal, 0, bytemuck::cast_slice(&[to, 0, 0, 0]));
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&self.pipeline);
                pass.set_bind_group(0, &self.bindings, &[]);
                for _ in 0..windows {
                    pass.dispatch_workgroups(self.parameters.workgroups(), 1, 1);
                }
            }
            self.queue.submit([encoder.finish()]);
            self.wait()?;
            self.now = to;
        }
        self.read()?;
        Ok(&self.counts)
    }

    fn refused(&self, why: impl ToString) -> DeviceError {
        DeviceError::Refused { device: self.name.clone(), why: why.to_string() }
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.device.poll(wgpu::PollType::wait_indefinitely()).map(|_| ()).map_err(|e| self.refused(e))
    }

    /// Reads what has been counted.
    fn read(&mut self) -> Result<(), DeviceError> {
        let bytes = self.staging.size() - self.bins.size();
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&self.state, 0, &self.staging, 0, bytes);
        encoder.copy_buffer_to_buffer(&self.bins, 0, &self.staging, bytes, self.bins.size());
        self.queue.submit([encoder.finish()]);
        self.staging.map_async(wgpu::MapMode::Read, .., |_| ());
        self.wait()?;
        let mut words: Vec<u32> = {
            let view = self.staging.get_mapped_range(..).map_err(|e| self.refused(format!("{e:?}")))?;
            bytemuck::cast_slice(&view).to_vec()
        };
        self.staging.unmap();
        let bins = words.split_off(bytes as usize / 4);
        self.reader.add(&mut self.counts, (&self.parameters, &self.words), (words, bins));
        Ok(())
    }
}
