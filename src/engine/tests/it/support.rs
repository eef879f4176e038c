//! Scripted servers on loopback, and a run against one of them with the checks
//! that every run must pass.

use crate::sealing::sealed;
use benchd_engine::{
    DriverChoice, EngineError, HeaderDefaults, Plan, Progress, RequestPlan, Row, Stop, TlsOptions,
    run,
};
use benchd_model::job::Phase;
use benchd_model::recording::TrialEnd;
use benchd_model::spec::Protocol;
use benchd_model::{Outcome, SecondRecord, Tally, Timestamp};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One accepted connection in the hands of a script.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// Which connection of the server it is, from 0.
    pub(crate) number: usize,
    buffered: Vec<u8>,
    over: Arc<AtomicBool>,
}

impl Peer {
    /// The next request, head and body; none when the client has closed.
    pub(crate) fn request(&mut self) -> Option<String> {
        loop {
            if let Some(length) = whole_request(&self.buffered) {
                let request = self.buffered.drain(..length).collect();
                return String::from_utf8(request).ok();
            }
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.buffered.extend_from_slice(&piece[..length]),
            }
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).ok();
    }

    /// Answers every request with what `answer` says, until the client closes.
    pub(crate) fn answer_all(mut self, answer: impl AsRef<[u8]>) {
        while self.request().is_some() {
            self.send(answer.as_ref());
        }
    }

    /// Neither reads nor closes, until the server is dropped.
    pub(crate) fn ignore(self) {
        while !self.over.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Waits until the client closes.
    pub(crate) fn hold(mut self) {
        while matches!(self.stream.read(&mut [0; 4096]), Ok(1..)) {}
    }
}

fn whole_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
    let whole = head + length.map_or(0, |length| length.parse::<usize>().unwrap());
    (bytes.len() >= whole).then_some(whole)
}

/// A server that runs `script` on a thread of its own for each connection.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", script)
    }

    pub(crate) fn on(address: &str, script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let server = Self { address, accepted: accepted.clone(), over: over.clone() };
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                stream.set_nodelay(true).unwrap();
                let number = accepted.fetch_add(1, Ordering::SeqCst);
                let stream = as_spoken(stream);
                let script = script.clone();
                let peer = Peer { stream, number, buffered: Vec::new(), over: over.clone() };
                std::thread::spawn(move || script(peer));
            }
        });
        server
    }

    /// A server that answers every request alike.
    pub(crate) fn answering(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::start(move |peer| peer.answer_all(answer.as_ref()))
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        TcpStream::connect(self.address).ok();
    }
}

/// A connection as the script of a server sees it.
pub(crate) fn as_spoken(stream: TcpStream) -> TcpStream {
    if crate::SEALED { sealed(stream) } else { stream }
}

/// A listener that keeps its port when it is shut down. The kernel gives a
/// port of its own choice back, so the port is asked for by number.
pub(crate) fn listener_with_lasting_port() -> TcpListener {
    let attempt = || {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        TcpListener::bind(address)
    };
    (0..100).find_map(|_| attempt().ok()).expect("one of a hundred ports is free")
}

/// A listener with room for two connections, which nobody has accepted yet. The
/// kernel drops what else wants in.
pub(crate) fn full_listener() -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1).unwrap();
    socket.into()
}

/// True when some connect to `port` waits for its SYN to be answered.
pub(crate) fn syn_unanswered(port: u16) -> bool {
    const SYN_SENT: &str = "02";
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    sockets.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next().is_some_and(|address| address.ends_with(&remote))
            && fields.next() == Some(SYN_SENT)
    })
}

/// What a run told and left.
pub(crate) struct Measured {
    pub(crate) total: Tally,
    pub(crate) end: TrialEnd,
    pub(crate) rows: Vec<Row>,
    pub(crate) seconds: Vec<SecondRecord>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) started: Option<Timestamp>,
}

impl Measured {
    pub(crate) fn of(&self, outcome: Outcome) -> u64 {
        self.total.counts.of(outcome)
    }

    /// All connections opened, before and within the window.
    pub(crate) fn opened(&self) -> u64 {
        self.end.opened_before + self.total.connections.opened
    }

    /// The failure reasons in one line.
    pub(crate) fn reasons(&self) -> String {
        format!("{:?}", self.end.failure_reasons)
    }

    /// Asserts that every attempt was `outcome`.
    #[track_caller]
    pub(crate) fn all(&self, outcome: Outcome, count: u64) {
        let (counts, reasons) = (&self.total.counts, self.reasons());
        assert_eq!((counts.issued, self.of(outcome)), (count, count), "{counts:?} {reasons}");
    }
}

/// The driver under test, or whichever there is where the kernel refuses it.
fn driver() -> DriverChoice {
    static DRIVER: OnceLock<DriverChoice> = OnceLock::new();
    *DRIVER.get_or_init(|| {
        let mut nothing = plan_on("127.0.0.1:9".parse().unwrap(), crate::DRIVER);
        (nothing.requests, nothing.preconnect) = (Some(0), false);
        match run(&nothing, &Stop::default(), &mut |_| {}) {
            Err(EngineError::Driver(error)) => {
                eprintln!("{:?} is not tested: {error}", crate::DRIVER);
                DriverChoice::Auto
            }
            _ => crate::DRIVER,
        }
    })
}

/// Ten requests over one connection; change what the case needs.
pub(crate) fn plan(address: SocketAddr) -> Plan {
    plan_on(address, driver())
}

fn plan_on(address: SocketAddr, driver: DriverChoice) -> Plan {
    Plan {
        endpoints: vec![address.into()],
        source_addresses: Vec::new(),
        url: format!("http://{address}/").parse().unwrap(),
        request: RequestPlan {
            method: "GET".into(),
            headers: Vec::new(),
            body: Vec::new(),
            target: None,
            defaults: HeaderDefaults::Benchd,
        },
        protocol: Protocol::Http1,
        connections: 1,
        streams: 1,
        requests: Some(10),
        duration: None,
        rate: None,
        keepalive: true,
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(20),
        grace: Duration::from_secs(1),
        threads: 1,
        preconnect: true,
        expect_status: vec!["2xx".into()],
        tls: TlsOptions::default(),
        keep_rows: 1000,
        driver,
    }
}

/// Runs ten requests, or what `change` makes of the plan.
pub(crate) fn load(address: SocketAddr, change: impl FnOnce(&mut Plan)) -> Measured {
    let mut plan = plan(address);
    change(&mut plan);
    load_until(&plan, &Stop::default(), &mut |_| {})
}

/// Runs `plan` and checks what must hold after every run.
pub(crate) fn load_until(plan: &Plan, stop: &Stop, seen: &mut dyn FnMut(&Progress)) -> Measured {
    let mut measured = Measured {
        total: Tally::default(),
        end: TrialEnd::default(),
        rows: Vec::new(),
        seconds: Vec::new(),
        phases: Vec::new(),
        started: None,
    };
    let done = run(&as_served(plan), stop, &mut |progress| {
        seen(&progress);
        match progress {
            Progress::Phase(phase) => measured.phases.push(phase),
            Progress::Started { at } => measured.started = Some(at),
            Progress::Second(second) => {
                measured.total.merge(&second.tally);
                measured.seconds.push(*second);
            }
        }
    })
    .unwrap();
    (measured.end, measured.rows) = (done.end, done.rows);
    let name = match plan.driver {
        _ if plan.protocol == Protocol::H2 => Some("h2"),
        DriverChoice::Uring => Some("io_uring"),
        DriverChoice::Tokio => Some("tokio"),
        DriverChoice::Auto => None,
    };
    assert!(name.is_none_or(|name| measured.end.driver == name), "{}", measured.end.driver);
    check(&measured);
    check_in_flight(&measured, plan);
    let limit = plan.timeout.as_micros() as u64;
    assert!(measured.total.latency.max_us().is_none_or(|max| max <= limit), "ok, yet too late");
    measured
}

/// The plan for servers behind TLS, where they are.
fn as_served(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if crate::SEALED {
        plan.url.set_scheme("https").unwrap();
        plan.tls.insecure = true;
    }
    plan
}

/// Time in flight is that of the attempts, and never more than users have.
fn check_in_flight(measured: &Measured, plan: &Plan) {
    let users = u64::from(plan.connections) * u64::from(plan.streams);
    for Tally { in_flight_us, span_us, .. } in measured.seconds.iter().map(|s| &s.tally) {
        assert!(*in_flight_us <= users * (span_us + 1), "{in_flight_us} us in {span_us} us");
    }
    let Tally { counts, in_flight_us, latency, .. } = &measured.total;
    // Of the others nobody knows when they ended.
    if plan.rate.is_none() && counts.issued == counts.ok {
        let rounding = counts.ok + measured.seconds.len() as u64 * u64::from(plan.threads);
        let least = latency.sum_us().saturating_sub(rounding);
        let most = latency.sum_us() + rounding;
        assert!(*in_flight_us >= least, "{in_flight_us} < {least}");
        assert!(!plan.warmup.is_zero() || *in_flight_us <= most, "{in_flight_us} > {most}");
    }
}

fn check(measured: &Measured) {
    let (total, end) = (&measured.total, &measured.end);
    let reasons: u64 = end.failure_reasons.values().sum();
    assert!(total.counts.balanced() && end.warmup.balanced(), "{:?}", total.counts);
    assert_eq!(reasons, total.counts.failures(), "every failure has a reason");
    assert_eq!(total.latency.len(), total.counts.ok);
    assert_eq!(total.service.len(), total.counts.ok);
    assert_eq!(total.ttfb.len(), total.counts.ok);
    assert_eq!(total.failed.len(), total.counts.failures());
    assert_eq!(total.status_codes.values().sum::<u64>(), total.counts.ok);
    assert!(measured.rows.len() as u64 <= total.counts.ok);
    let addresses = || end.addresses.values();
    assert_eq!(addresses().map(|a| a.ok).sum::<u64>(), total.counts.ok);
    // What was dropped went nowhere.
    let went_wrong = total.counts.failures() - total.counts.dropped;
    assert_eq!(addresses().map(|a| a.failures).sum::<u64>(), went_wrong);
    assert_eq!(
        addresses().map(|a| a.opened).sum::<u64>(),
        end.opened_before + total.connections.opened
    );
    for (index, second) in (0..).zip(&measured.seconds) {
        assert_eq!(second.index, index);
        assert!(second.tally.counts.balanced());
        if (index as usize) < measured.seconds.len() - 1 {
            assert_eq!(second.tally.span_us, 1_000_000);
        }
    }
    for pair in measured.phases.windows(2) {
        assert!((pair[0] as u8) < (pair[1] as u8), "phases go forward: {:?}", measured.phases);
    }
}
