//! `GET /baselines`.

use crate::config::App;
use crate::documents::BaselineList;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_store::BaselineFilter;

/// List baselines
///
/// Every baseline that matches, by project, scenario, name and environment. There is
/// one at most of each.
#[utoipa::path(
    get,
    path = "/baselines",
    tag = "baselines",
    operation_id = "list_baselines",
    params(
        ("project" = Option<String>, Query, min_length = 1, description = "The project.", example = "shop"),
        ("scenario" = Option<String>, Query, min_length = 1, description = "The scenario.", example = "home page"),
        ("environment" = Option<String>, Query, min_length = 1, description = "The fingerprint of the environment."),
        ("name" = Option<String>, Query, min_length = 1, description = "The name.", example = "default"),
    ),
    responses(
        (status = 200, description = "The baselines.", body = BaselineList),
        (status = 400, description = "`invalid_query`: `errors` lists every parameter that is wrong or unknown."),
    ),
)]
pub(crate) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<BaselineList>> {
    let mut params = Params::strict(query.as_deref());
    let filter = BaselineFilter {
        project: params.text("project"),
        scenario: params.text("scenario"),
        environment: params.text("environment"),
        name: params.text("name"),
    };
    params.finish()?;
    Ok(Json(BaselineList { items: app.store.baselines(&filter).await? }))
}
