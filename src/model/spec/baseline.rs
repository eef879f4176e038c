//! A request to make a job a baseline.

use super::FieldError;
use super::fields::{Errors, Fields, shown};
use crate::JobId;
use crate::baseline::{DEFAULT_BASELINE, check_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Which job is to become a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBaseline {
    /// The finished job.
    pub job: JobId,
    /// What criteria are to call it: letters, digits, `-`, `_` and `.`.
    #[serde(default = "default_baseline")]
    #[schema(default = "default", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]+$")]
    pub name: String,
    /// Take a job that did not complete with the verdict `pass`, too.
    #[serde(default)]
    pub force: bool,
}

fn default_baseline() -> String {
    DEFAULT_BASELINE.to_owned()
}

impl NewBaseline {
    /// Reads the document.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn parse(document: &Value) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let Some(mut fields) = Fields::of(document, "", &mut errors) else {
            return Err(errors.0);
        };
        let job = match fields.take("job") {
            None => Err("is missing: name the finished job by its id".to_owned()),
            Some(Value::String(id)) => id.parse::<JobId>(),
            Some(other) => Err(format!("{} is no job id: job ids are UUIDs", shown(other))),
        };
        let name = fields.text("name", &mut errors).unwrap_or_else(default_baseline);
        if let Err(why) = check_name(&name) {
            errors.add("/name", &why);
        }
        let force = fields.flag("force", false, &mut errors);
        fields.refuse_rest(&mut errors);
        match job {
            Ok(job) if errors.0.is_empty() => Ok(Self { job, name, force }),
            Ok(_) => Err(errors.0),
            Err(why) => {
                errors.add("/job", &why);
                Err(errors.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NewBaseline;
    use serde_json::json;

    #[test]
    fn what_is_left_out_is_the_usual_and_what_is_wrong_is_told_at_once() {
        let id = "01936f5c-8d40-7c3e-9a55-2f6b1d0e4a17";
        let read = NewBaseline::parse(&json!({"job": id})).unwrap();
        assert_eq!((read.name.as_str(), read.force), ("default", false));
        let read = NewBaseline::parse(&json!({"job": id, "name": "v1.2", "force": true})).unwrap();
        assert_eq!((read.name.as_str(), read.force), ("v1.2", true));
        for (document, pointers) in [
            (json!([]), vec![""]),
            (json!({}), vec!["/job"]),
            (json!({"job": 5}), vec!["/job"]),
            (json!({"job": "latest", "name": "a b", "force": 1}), vec!["/name", "/force", "/job"]),
            (json!({"job": id, "name": ""}), vec!["/name"]),
            (json!({"job": id, "named": "x"}), vec!["/named"]),
        ] {
            let errors = NewBaseline::parse(&document).unwrap_err();
            let found: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
            assert_eq!(found, pointers, "{document}");
        }
    }
}
