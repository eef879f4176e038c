//! Every route in one list, and what stands around all of them.

use crate::api::{baselines, catalogue, comparisons, docs, health, history, index, jobs, metrics};
use crate::config::{App, ServerConfig};
use crate::extract::MAX_BODY_BYTES;
use crate::grafana;
use crate::{auth, guard, observe, openapi};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use http::header::ETAG;
use http::{Extensions, HeaderMap, StatusCode, Version};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes that the OpenAPI document describes.
pub(crate) fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        // jobs
        .routes(routes!(jobs::create::create, jobs::list::list))
        .routes(routes!(jobs::get::get, jobs::delete::delete))
        .routes(routes!(jobs::cancel::cancel))
        .routes(routes!(jobs::events::events))
        // results
        .routes(routes!(jobs::result::result))
        .routes(routes!(jobs::timeline::timeline))
        .routes(routes!(jobs::gate::gate))
        .routes(routes!(catalogue::catalogue))
        .routes(routes!(history::history))
        // baselines
        .routes(routes!(baselines::set::set, baselines::list::list))
        .routes(routes!(baselines::get::get, baselines::delete::delete))
        // comparisons
        .routes(routes!(comparisons::create::create))
        .routes(routes!(comparisons::get::get))
        // grafana
        .routes(routes!(grafana::series::series))
        .routes(routes!(grafana::results::results))
        .routes(routes!(grafana::annotations::annotations))
        .routes(routes!(grafana::changes::changes))
        .routes(routes!(grafana::variables::variables))
        .routes(routes!(grafana::latest::latest))
        // service
        .routes(routes!(index::index))
        .routes(routes!(metrics::metrics))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::healthz))
        .routes(routes!(docs::openapi))
        .routes(routes!(docs::docs))
}

/// The whole API as a service that can be called or served.
pub fn router(config: ServerConfig) -> Router {
    assemble(App::new(config, CancellationToken::new()))
}

/// The router over this state. Layers are named from the inside out.
pub(crate) fn assemble(app: App) -> Router {
    let (routes, _) = documented().split_for_parts();
    let answering = routes
        .route("/docs/", get(docs::page))
        .route("/docs/{*path}", get(docs::asset))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(observe::ANSWER_TIMEOUT, observe::limit_time))
        .layer(from_fn_with_state(app.clone(), auth::require_token))
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(observe::panicked))
        .layer(CompressionLayer::new().compress_when(DefaultPredicate::new().and(untagged)))
        .layer(from_fn_with_state(app.clone(), observe::count))
        .with_state(app);
    // Around the router and not its routes: it names what a path takes (`Allow`)
    // only when every layer of the route is through.
    Router::new().fallback_service(answering).layer(from_fn(observe::explain))
}

/// A strong entity tag names exact bytes, so what bears one is left as it is.
fn untagged(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    !headers.contains_key(ETAG)
}
