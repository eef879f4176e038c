//! Query parameters, read so that nothing is overlooked: a parameter nobody
//! knows, one given twice and one that cannot be read are all told at once.

use crate::problem::{Code, Problem};
use benchd_model::FieldError;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use url::form_urlencoded;

/// What an empty value (`?project=`) means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// A mistake: most likely a shell variable that was not set.
    Refused,
    /// The same as leaving it out: Grafana sends unset variables so.
    Absent,
}

/// The parameters of one request. Read each with a method, then [`Params::finish`].
pub(crate) struct Params {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
    errors: Vec<FieldError>,
    empty: Empty,
}

impl Params {
    /// Parameters whose empty values are refused.
    pub(crate) fn strict(query: Option<&str>) -> Self {
        Self::new(query, Empty::Refused)
    }

    /// Parameters whose empty values are as good as absent.
    pub(crate) fn lenient(query: Option<&str>) -> Self {
        Self::new(query, Empty::Absent)
    }

    fn new(query: Option<&str>, empty: Empty) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        Self { pairs: pairs.collect(), known: Vec::new(), errors: Vec::new(), empty }
    }

    /// The text of parameter `name`.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let mut values = Vec::new();
        self.pairs.retain(|(key, value)| {
            let mine = key == name;
            if mine {
                values.push(value.clone());
            }
            !mine
        });
        if values.len() > 1 {
            self.error(name, format!("{name} is given {} times: give it once", values.len()));
        }
        let value = values.pop()?;
        self.checked(name, value)
    }

    /// Parameter `name`, parsed.
    pub(crate) fn parsed<T>(&mut self, name: &'static str) -> Option<T>
    where
        T: FromStr<Err: Display>,
    {
        let text = self.text(name)?;
        text.parse().map_err(|error: T::Err| self.error(name, error.to_string())).ok()
    }

    /// Parameter `name`, a whole number within `range`.
    pub(crate) fn whole(&mut self, name: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = range.into_inner();
            self.error(name, format!("{text:?} is no whole number from {low} to {high}"));
        }
        number
    }

    /// Parameter `name`, a number within `range`.
    pub(crate) fn number(&mut self, name: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = range.into_inner();
            self.error(name, format!("{text:?} is no number from {low} to {high}"));
        }
        number
    }

    /// Parameter `name`, a number of seconds; larger ones are cut to `most`.
    pub(crate) fn seconds(&mut self, name: &'static str, most: u64) -> Option<u64> {
        let text = self.text(name)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            self.error(name, format!("{text:?} is no whole number of seconds"));
            return None;
        }
        Some(text.parse().unwrap_or(u64::MAX).min(most))
    }

    /// Parameter `name`, one of `choices`.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(name)?;
        let chosen = choices.iter().find(|(choice, _)| *choice == text).map(|(_, value)| *value);
        if chosen.is_none() {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.error(name, format!("{text:?} is not known: one of {}", names.join(", ")));
        }
        chosen
    }

    /// Every `label.KEY=VALUE`, as key and value.
    pub(crate) fn labels(&mut self) -> Vec<(String, String)> {
        self.known.push("label.KEY");
        let (labels, rest) = std::mem::take(&mut self.pairs)
            .into_iter()
            .partition(|(key, _)| key.len() > "label.".len() && key.starts_with("label."));
        self.pairs = rest;
        let labels: Vec<(String, String)> = labels;
        labels
            .into_iter()
            .filter_map(|(key, value)| {
                let value = self.checked(&key, value)?;
                Some((key["label.".len()..].to_owned(), value))
            })
            .collect()
    }

    /// Notes that parameter `name` is wrong.
    pub(crate) fn error(&mut self, name: &str, detail: impl Into<String>) {
        let name = name.replace('~', "~0").replace('/', "~1");
        self.errors.push(FieldError { pointer: format!("/query/{name}"), detail: detail.into() });
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Everything that was wrong, parameters nobody read included.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        let known = match self.known.as_slice() {
            [] => "this resource takes none".to_owned(),
            known => format!("known are {}", known.join(", ")),
        };
        for (name, _) in std::mem::take(&mut self.pairs) {
            let shown: String = name.chars().take(100).collect();
            self.error(&shown, format!("{shown:?} is no parameter here: {known}"));
        }
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(Problem::with_errors(Code::InvalidQuery, self.errors))
    }

    /// The value, unless it is empty or holds what no database text holds.
    fn checked(&mut self, name: &str, value: String) -> Option<String> {
        if value.contains('\0') {
            self.error(name, "a NUL character is in the value");
            return None;
        }
        if value.is_empty() {
            if self.empty == Empty::Refused {
                self.error(name, "the value is empty: give one or leave the parameter out");
            }
            return None;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Params;

    fn errors(params: Params) -> Vec<(String, String)> {
        let document = params.finish().unwrap_err().document();
        document.errors.into_iter().map(|e| (e.pointer, e.detail)).collect()
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let mut params = Params::strict(Some("limit=0&limit=5&state=&color=red&a%00=1"));
        assert_eq!(params.whole("limit", 1..=10), Some(5));
        assert_eq!(params.text("state"), None);
        let errors = errors(params);
        let pointers: Vec<&str> = errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(pointers, ["/query/limit", "/query/state", "/query/color", "/query/a\0"]);
        assert!(errors[2].1.contains("known are limit, state"), "{errors:?}");
    }

    #[test]
    fn an_empty_value_is_absent_where_grafana_asks() {
        let mut params = Params::lenient(Some("project=&scenario=home%20page"));
        assert_eq!(params.text("project"), None);
        assert_eq!(params.text("scenario").as_deref(), Some("home page"));
        assert!(params.finish().is_ok());
    }

    #[test]
    fn labels_are_taken_with_their_keys() {
        let mut params = Params::strict(Some("label.branch=main&label.a.b=c&label.=x"));
        let labels = params.labels();
        assert_eq!(labels, [("branch".into(), "main".into()), ("a.b".into(), "c".into())]);
        assert_eq!(errors(params)[0].0, "/query/label.");
    }

    #[test]
    fn seconds_are_cut_and_never_negative() {
        let mut params = Params::strict(Some("wait=99999999999999999999999"));
        assert_eq!(params.seconds("wait", 50), Some(50));
        let mut params = Params::strict(Some("wait=-1"));
        assert_eq!(params.seconds("wait", 50), None);
        assert_eq!(errors(params).len(), 1);
    }
}
