//! Renders nginx.conf. Paths in it are relative to the prefix, so that nothing
//! outside it is touched. Owns the text only.

use crate::locate::Build;
use crate::options::NginxOptions;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Where a managed nginx tells which of its configurations answers.
pub(crate) const IDENTITY_PATH: &str = "/benchd-identity";
/// Its stub_status page.
pub(crate) const STATUS_PATH: &str = "/nginx_status";

/// Descriptors a worker needs beside its connections.
const SPARE_DESCRIPTORS: u64 = 64;

/// What the configuration depends on beside the options.
pub(crate) struct Surroundings<'a> {
    pub(crate) build: &'a Build,
    pub(crate) address: SocketAddr,
    pub(crate) tls_address: Option<SocketAddr>,
    pub(crate) http2_address: Option<SocketAddr>,
    /// Hard descriptor limit; workers may not go beyond it.
    pub(crate) nofile_hard: u64,
    /// Set when workers must keep the user that nginx is started as.
    pub(crate) user: Option<&'a str>,
    /// What [`IDENTITY_PATH`] answers.
    pub(crate) identity: &'a str,
}

pub(crate) fn nginx_conf(options: &NginxOptions, around: &Surroundings<'_>) -> String {
    let mut conf = String::new();
    main_block(&mut conf, options, around);
    conf.push_str("http {\n");
    http_settings(&mut conf, options, around.build);
    server_block(&mut conf, options, around);
    conf.push_str("}\n");
    conf
}

fn main_block(conf: &mut String, options: &NginxOptions, around: &Surroundings<'_>) {
    let limit = around.nofile_hard;
    let slots = u64::from(options.worker_connections)
        .min(limit.saturating_sub(SPARE_DESCRIPTORS).max(SPARE_DESCRIPTORS));
    // A request for a file takes two descriptors while it is answered.
    let descriptors = (slots * 2 + SPARE_DESCRIPTORS).min(limit);
    conf.push_str("daemon off;\nmaster_process on;\n");
    if let Some(user) = around.user {
        line(conf, format_args!("user {user};"));
    }
    line(conf, format_args!("worker_processes {};", options.workers));
    line(conf, format_args!("worker_rlimit_nofile {descriptors};"));
    if let Some(affinity) = &options.cpu_affinity {
        line(conf, format_args!("worker_cpu_affinity {affinity};"));
    }
    conf.push_str("pid nginx.pid;\nlock_file nginx.lock;\nerror_log logs/error.log warn;\n");
    extra(conf, &options.main_extra);
    line(conf, format_args!("events {{\n    worker_connections {slots};\n}}"));
}

fn http_settings(conf: &mut String, options: &NginxOptions, build: &Build) {
    conf.push_str(
        "    types { text/html html; text/plain txt; }\n    default_type application/octet-stream;\n",
    );
    conf.push_str("    sendfile on;\n    tcp_nopush on;\n    client_body_temp_path tmp/body;\n");
    for module in ["proxy", "fastcgi", "uwsgi", "scgi"] {
        if build.has_module(module) {
            line(conf, format_args!("    {module}_temp_path tmp/{module};"));
        }
    }
    conf.push_str(if options.access_log {
        "    access_log logs/access.log;\n"
    } else {
        "    access_log off;\n"
    });
    line(conf, format_args!("    keepalive_timeout {};", options.keepalive_timeout_s));
    line(conf, format_args!("    keepalive_requests {};", options.keepalive_requests));
    extra(conf, &options.http_extra);
}

fn server_block(conf: &mut String, options: &NginxOptions, around: &Surroundings<'_>) {
    let mut listening = format!(" backlog={}", options.backlog);
    if options.reuseport {
        listening.push_str(" reuseport");
    }
    line(conf, format_args!("    server {{\n        listen {}{listening};", around.address));
    if let Some(address) = around.http2_address {
        line(conf, format_args!("        listen {address} http2{listening};"));
    }
    if let (Some(tls), Some(address)) = (&options.tls, around.tls_address) {
        let http2 = if options.http2 { " http2" } else { "" };
        line(conf, format_args!("        listen {address} ssl{http2}{listening};"));
        line(conf, format_args!("        ssl_certificate {};", quoted(&tls.certificate)));
        line(conf, format_args!("        ssl_certificate_key {};", quoted(&tls.key)));
    }
    conf.push_str(
        "        server_name localhost;\n        root html;\n        index index.html;\n",
    );
    line(conf, format_args!("        location = {STATUS_PATH} {{ stub_status; access_log off; }}"));
    line(
        conf,
        format_args!(
            "        location = {IDENTITY_PATH} {{ access_log off; default_type text/plain; return 200 \"{}\"; }}",
            around.identity
        ),
    );
    extra(conf, &options.server_extra);
    conf.push_str("    }\n");
}

fn line(conf: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _infallible = writeln!(conf, "{text}");
}

fn extra(conf: &mut String, text: &str) {
    if !text.trim().is_empty() {
        conf.push_str(text.trim_end());
        conf.push('\n');
    }
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

/// `http://127.0.0.1:8080/path`, with brackets around IPv6.
pub(crate) fn url(scheme: &str, address: SocketAddr, path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let reachable = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("{scheme}://{}{slash}{path}", SocketAddr::new(reachable, address.port()))
}

#[cfg(test)]
mod tests {
    use super::{Surroundings, nginx_conf, url};
    use crate::locate::Build;
    use crate::options::{NginxOptions, TlsFiles};

    fn rendered(options: &NginxOptions, nofile_hard: u64) -> String {
        let build = Build::of(std::path::Path::new("/bin/true")).unwrap();
        let around = Surroundings {
            build: &build,
            address: "127.0.0.1:8080".parse().unwrap(),
            tls_address: options.tls.is_some().then(|| "127.0.0.1:8443".parse().unwrap()),
            http2_address: options.http2.then(|| "127.0.0.1:8082".parse().unwrap()),
            nofile_hard,
            user: None,
            identity: "x-1",
        };
        nginx_conf(options, &around)
    }

    #[test]
    fn slots_and_descriptors_stay_below_the_hard_limit() {
        let plenty = rendered(&NginxOptions::default(), 1 << 20);
        assert!(plenty.contains("worker_connections 16384;"), "{plenty}");
        assert!(plenty.contains("worker_rlimit_nofile 32832;"), "{plenty}");
        let tight = rendered(&NginxOptions::default(), 1024);
        assert!(tight.contains("worker_connections 960;"), "{tight}");
        assert!(tight.contains("worker_rlimit_nofile 1024;"), "{tight}");
        let none = rendered(&NginxOptions::default(), u64::MAX);
        assert!(none.contains("worker_rlimit_nofile 32832;"), "{none}");
    }

    #[test]
    fn every_option_reaches_the_file() {
        let options = NginxOptions {
            workers: 3,
            reuseport: true,
            backlog: 77,
            cpu_affinity: Some("01 10".into()),
            access_log: true,
            http2: true,
            tls: Some(TlsFiles { certificate: "/a b/c.pem".into(), key: "/k\"ey".into() }),
            main_extra: "thread_pool bench threads=2;".into(),
            http_extra: "gzip on;".into(),
            server_extra: "location = /x { return 204; }".into(),
            ..NginxOptions::default()
        };
        let conf = rendered(&options, 4096);
        for expected in [
            "worker_processes 3;",
            "worker_cpu_affinity 01 10;",
            "access_log logs/access.log;",
            "listen 127.0.0.1:8080 backlog=77 reuseport;",
            "listen 127.0.0.1:8443 ssl http2 backlog=77 reuseport;",
            "listen 127.0.0.1:8082 http2 backlog=77 reuseport;",
            "ssl_certificate \"/a b/c.pem\";",
            "ssl_certificate_key \"/k\\\"ey\";",
            "thread_pool bench",
            "gzip on;",
            "location = /x",
        ] {
            assert!(conf.contains(expected), "{expected} in\n{conf}");
        }
    }

    #[test]
    fn urls_name_a_reachable_address() {
        assert_eq!(url("http", "[::1]:80".parse().unwrap(), "x"), "http://[::1]:80/x");
        assert_eq!(url("http", "0.0.0.0:80".parse().unwrap(), "/"), "http://127.0.0.1:80/");
    }
}
