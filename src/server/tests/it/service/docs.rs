use crate::app::TestApp;
use http::StatusCode;

#[tokio::test]
async fn the_document_and_its_page_come_from_the_binary() {
    let app = TestApp::new().await;
    let document = app.get("/openapi.json").await;
    assert_eq!(document.text(), benchd_server::openapi_json());
    let docs = app.get("/docs").await;
    assert_eq!((docs.status, docs.header("location")), (StatusCode::SEE_OTHER, "/docs/"));
    let page = app.get("/docs/").await;
    assert!(page.header("content-type").starts_with("text/html"));
    let mut files = 0;
    for piece in page.text().split(['"', '\'']) {
        if let Some(file) = piece.strip_prefix("./") {
            assert_eq!(app.get(&format!("/docs/{file}")).await.status, StatusCode::OK, "{file}");
            files += 1;
        }
        assert!(!piece.starts_with("http"), "the page must work offline: {piece}");
    }
    assert!(files >= 4, "{}", page.text());
    let settings = app.get("/docs/swagger-initializer.js").await.text();
    assert!(settings.contains("../openapi.json"), "{settings}");
    assert!(!settings.contains("https://"), "{settings}");
}

#[tokio::test]
async fn the_index_links_what_there_is() {
    let app = TestApp::new().await;
    let index = app.get("/").await.json();
    assert_eq!(index["service"], "benchd");
    for (name, path) in index["links"].as_object().unwrap() {
        let status = app.get(path.as_str().unwrap()).await.status;
        assert!(status.is_success() || status.is_redirection(), "{name}: {status}");
    }
    let page = app.get_with("/", &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]).await;
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.text().contains("href=\"/docs/\""));
}

#[tokio::test]
async fn the_catalogue_tells_unit_direction_and_meaning() {
    let app = TestApp::new().await;
    let metrics = app.get("/metrics-catalogue").await.rows();
    let find = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    assert_eq!((&find("rps")["better"], &find("rps")["unit"]), (&"higher".into(), &"1/s".into()));
    assert!(find("latency_pN_ms")["meaning"].is_string());
}
