//! docker/: what can be tested without a Docker engine. Every file parses and
//! agrees with the others.

mod answers;
mod dashboards;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The uid that the dashboards and the provisioned data source share.
const DATA_SOURCE: &str = "benchd";
const PLUGIN: &str = "yesoreyeram-infinity-datasource";

fn docker() -> PathBuf {
    let from_package = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    from_package
        .map(|folder| folder.join("docker"))
        .find(|folder| folder.join("compose.yaml").is_file())
        .expect("docker/ stands in the root of the repository")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = docker().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value, key: &str) -> String {
    let found = value[key].as_str();
    found.unwrap_or_else(|| panic!("no text {key:?} in {value}")).to_owned()
}

#[test]
fn compose_names_every_part_and_only_files_that_exist() {
    let compose = yaml("compose.yaml");
    let services = compose["services"].as_object().expect("services");
    let names: Vec<&str> = services.keys().map(String::as_str).collect();
    let expected = ["benchd", "worker", "postgres", "nginx", "grafana"];
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
    for (name, service) in services {
        let anchor = &compose["x-benchd"];
        let image = service["image"].as_str().or(anchor["image"].as_str()).expect("an image");
        let host = image.split_once('/').map_or("", |(first, _)| first);
        assert!(!host.contains(['.', ':']), "{name}: {image} names a registry host");
        for volume in list(&service["volumes"]).iter().chain(list(&anchor["volumes"])) {
            let source =
                volume.as_str().and_then(|volume| volume.split(':').next()).expect("a source");
            let known = compose["volumes"].get(source).is_some() || docker().join(source).exists();
            assert!(known, "{name}: {source}");
        }
        for network in list(&service["networks"]) {
            assert!(compose["networks"].get(network.as_str().unwrap_or("")).is_some(), "{network}");
        }
        for port in list(&service["ports"]) {
            assert!(
                port.as_str().is_some_and(|port| port.starts_with("127.0.0.1:")),
                "{name}: {port}"
            );
        }
        for other in service["depends_on"].as_object().into_iter().flat_map(|others| others.keys())
        {
            assert!(
                services[other]["healthcheck"].is_object(),
                "{name} waits for {other}'s health"
            );
        }
    }
    let settings = &services["benchd"]["environment"];
    assert_eq!(settings["BENCHD_WORKERS"], "0");
    let token = text(settings, "BENCHD_TOKEN_FILE");
    let secret = token.strip_prefix("/run/secrets/").expect("the token is a secret");
    assert_eq!(services["benchd"]["secrets"][0], secret);
    assert_eq!(compose["secrets"][secret]["environment"], "BENCHD_TOKEN");
    assert_eq!(settings["BENCHD_DATABASE"], services["worker"]["environment"]["BENCHD_DATABASE"]);
}

#[test]
fn the_image_runs_as_an_ordinary_user() {
    let dockerfile = read("Dockerfile");
    let instructions: Vec<(&str, &str)> =
        dockerfile.lines().filter_map(|line| line.split_once(' ')).collect();
    let of = |name: &str| -> Vec<&str> {
        instructions.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value).collect()
    };
    assert_eq!(of("FROM").len(), 2, "{dockerfile}");
    assert!(!of("FROM").iter().any(|image| image.contains('/')), "{dockerfile}");
    assert_eq!(of("USER"), ["benchd"]);
    assert_eq!(of("ENTRYPOINT"), ["[\"benchd\"]"]);
    assert_eq!(of("CMD"), ["[\"serve\"]"]);
}

#[test]
fn the_registered_target_may_be_loaded_inside_dockers_networks_only() {
    let file: toml::Table = read("benchd.toml").parse().expect("benchd.toml is TOML");
    let targets = file["targets"].clone().try_into().expect("[[targets]] is what benchd reads");
    let policy = benchd_model::policy::TargetPolicy { targets, ..Default::default() };
    let target = policy.named("nginx").expect("a target named nginx");
    let status = target.stub_status.clone().expect("its stub_status");
    let compose = yaml("compose.yaml");
    for url in [&target.url, &status] {
        let url = url::Url::parse(url).expect("a URL");
        assert!(compose["services"].get(url.host_str().unwrap_or("")).is_some(), "{url}");
        for (address, allowed) in
            [("172.18.0.5", true), ("192.168.0.3", true), ("100.64.0.1", false)]
        {
            let address = address.parse().expect("an address");
            assert_eq!(policy.check(&url, &[address]).is_ok(), allowed, "{url} at {address}");
        }
    }
}

#[test]
fn nginx_takes_its_configuration_and_shows_the_page_that_is_registered() {
    let nginx = benchd_tuning::find_nginx().expect("nginx is needed: apt-get install nginx");
    let conf = read("nginx/nginx.conf");
    assert!(conf.contains("listen 8080 ") && conf.contains("location = /nginx_status {"), "{conf}");
    assert!(conf.contains("stub_status;") && conf.contains("deny all;"), "{conf}");
    let folder = tempfile::tempdir().expect("a folder");
    let pid = format!("pid {};", folder.path().join("nginx.pid").display());
    let file = folder.path().join("nginx.conf");
    fs::write(&file, conf.replace("pid /tmp/nginx.pid;", &pid)).expect("a file");
    let output = std::process::Command::new(nginx).arg("-t").arg("-c").arg(&file).output();
    let output = output.expect("nginx runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_data_source_is_the_one_that_the_dashboards_use() {
    let provisioned = yaml("grafana/provisioning/datasources/benchd.yaml");
    let source = &provisioned["datasources"][0];
    assert_eq!(
        (&source["uid"], &source["type"]),
        (&Value::from(DATA_SOURCE), &Value::from(PLUGIN))
    );
    let (url, settings) = (text(source, "url"), &source["jsonData"]);
    assert_eq!(settings["auth_method"], "bearerToken");
    assert_eq!(settings["allowedHosts"][0], url.as_str());
    assert_eq!(settings["customHealthCheckEnabled"], true);
    assert_eq!(settings["customHealthCheckUrl"], format!("{url}/readyz"));
    assert_eq!(source["secureJsonData"]["bearerToken"], "$BENCHD_TOKEN");
    let compose = yaml("compose.yaml");
    let grafana = &compose["services"]["grafana"]["environment"];
    assert!(text(grafana, "BENCHD_TOKEN").starts_with("${BENCHD_TOKEN:?"));
    assert!(text(grafana, "GF_PLUGINS_PREINSTALL_SYNC").starts_with(PLUGIN));

    let provider = yaml("grafana/provisioning/dashboards/benchd.yaml");
    let mounted = text(&provider["providers"][0]["options"], "path");
    let home = text(grafana, "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH");
    let home = home.strip_prefix(&format!("{mounted}/")).expect("home is one of the dashboards");
    assert!(docker().join("grafana/dashboards").join(home).is_file(), "{home}");
}
