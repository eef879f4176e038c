//! The demonstration, with nginx and without.

use crate::support::command::{benchd, command};

fn assert_shown(stdout: &str, target: &str) {
    for part in [
        target,
        "service   http://127.0.0.1:",
        "Complete requests:",
        "nginx",
        "verdict   pass",
        "nginx's own request counter agrees with what was sent",
        "/timeline",
    ] {
        assert!(stdout.contains(part), "{part:?} is missing in:\n{stdout}");
    }
}

#[test]
fn the_demo_shows_a_pass_on_a_real_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let ended = benchd(folder.path(), &["demo"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_shown(&ended.stdout, "nginx/");
    assert!(ended.stderr.contains(" rps"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_demo_brings_its_own_target_where_there_is_no_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let ended = command(folder.path())
        .env("BENCHD_NGINX", "/nonexistent/nginx")
        .arg("demo")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{stdout}\n{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_shown(&stdout, "built into benchd");
}
