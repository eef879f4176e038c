//! `GET /grafana/variables/{name}`.

use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::{ApiResult, Code, Problem};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use benchd_store::Variable;
use serde::Serialize;
use utoipa::ToSchema;

/// One choice of a dashboard variable.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Choice {
    /// What people read.
    #[serde(rename = "__text")]
    pub(crate) text: String,
    /// What queries get.
    #[serde(rename = "__value")]
    pub(crate) value: String,
}

/// The variables there are.
#[derive(Clone, Copy, ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes the path parameter in the OpenAPI document")]
pub(crate) enum VariableName {
    Projects,
    Scenarios,
    Branches,
    Runs,
}

/// Choices for a dashboard variable
///
/// What there is to choose from, of all projects or of one.
#[utoipa::path(
    get,
    path = "/grafana/variables/{name}",
    tag = "grafana",
    operation_id = "grafana_variables",
    params(
        ("name" = VariableName, Path, description = "`projects`, `scenarios`, `branches` or `runs`."),
        ("project" = Option<String>, Query, description = "Only of this project."),
    ),
    responses(
        (status = 200, description = "The choices.", body = Vec<Choice>),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`not_found`: there is no variable of this name."),
    ),
)]
pub(crate) async fn variables(
    State(app): State<App>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Vec<Choice>>> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let variable = match name.as_str() {
        "projects" => Variable::Projects,
        "scenarios" => Variable::Scenarios,
        "branches" => Variable::Branches,
        "runs" => Variable::Runs,
        other => return Err(unknown(other)),
    };
    let mut params = Params::lenient(query.as_deref());
    let project = params.text("project");
    params.finish()?;
    let choices = app.store.variables(variable, project.as_deref()).await?;
    Ok(Json(choices.into_iter().map(|(text, value)| Choice { text, value }).collect()))
}

fn unknown(name: &str) -> Problem {
    let detail = format!("{name:?} is no variable: one of projects, scenarios, branches, runs");
    Problem::new(Code::NotFound, detail)
}
