//! A JSON object read field by field: each wrong field adds a sentence, and
//! what nobody asked for is refused.

use super::FieldError;
use crate::Span;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

const MAX_TEXT: usize = 200;

/// The words a field may hold, with what each means.
pub(crate) type Choices<T> = &'static [(&'static str, T)];

pub(crate) fn check_text(pointer: &str, text: &str, errors: &mut Errors) {
    if text.len() > MAX_TEXT {
        errors.add(pointer, &format!("is {} bytes long: at most {MAX_TEXT}", text.len()));
    }
    if text.chars().any(char::is_control) {
        errors.add(pointer, "holds a control character");
    }
}

/// A list whose items `read` takes or refuses, each where it stands.
pub(crate) fn list<T>(
    value: Option<&Value>,
    pointer: &str,
    read: impl Fn(&Value) -> Result<T, String>,
    errors: &mut Errors,
) -> Option<Vec<T>> {
    let value = value?;
    let Some(items) = value.as_array() else {
        errors.add(pointer, &format!("{} is no list of strings", shown(value)));
        return None;
    };
    let mut items_read = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match read(item) {
            Ok(read) => items_read.push(read),
            Err(why) => errors.add(&format!("{pointer}/{index}"), &why),
        }
    }
    Some(items_read)
}

/// The text of a list's item.
pub(crate) fn item_text(item: &Value) -> Result<&str, String> {
    item.as_str().ok_or_else(|| format!("{} is no string", shown(item)))
}

pub(crate) fn string_map(
    value: Option<&Value>,
    pointer: &str,
    most: usize,
    errors: &mut Errors,
) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    let Some(value) = value else { return map };
    let Some(object) = value.as_object() else {
        errors.add(pointer, &format!("{} is no object of strings", shown(value)));
        return map;
    };
    if object.len() > most {
        errors.add(pointer, &format!("holds {} entries: at most {most}", object.len()));
    }
    for (key, item) in object {
        match item.as_str() {
            Some(text) => {
                map.insert(key.clone(), text.to_owned());
            }
            None => errors.add(
                &format!("{pointer}/{}", escape(key)),
                &format!("{} is no string: write it in quotes", shown(item)),
            ),
        }
    }
    map
}

/// What was found, short enough for a sentence.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 60 => "a long string".to_owned(),
        other => other.to_string(),
    }
}

/// A key as a JSON pointer token (RFC 6901).
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Everything found wrong so far.
#[derive(Default)]
pub(crate) struct Errors(pub(crate) Vec<FieldError>);

impl Errors {
    pub(crate) fn add(&mut self, pointer: &str, detail: &str) {
        self.0.push(FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() });
    }

    /// True when something is wrong with that field or a part of it.
    pub(crate) fn any_under(&self, pointer: &str) -> bool {
        self.0.iter().any(|error| error.pointer.starts_with(pointer))
    }
}

/// The fields of one object; what nobody asks for is refused at the end.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    pointer: String,
    asked: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, pointer: &str, errors: &mut Errors) -> Option<Self> {
        let Some(object) = value.as_object() else {
            let what = if pointer.is_empty() { "the document is" } else { "" };
            let found = format!("{what} {}, and no object: write {{…}}", shown(value));
            errors.add(pointer, found.trim_start());
            return None;
        };
        Some(Self { object, pointer: pointer.to_owned(), asked: BTreeSet::new() })
    }

    pub(crate) fn at(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escape(key))
    }

    pub(crate) fn had(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null())
    }

    /// The field, when it is there; null means it is not.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.insert(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, value: &Value, right: &str, errors: &mut Errors) {
        errors.add(&self.at(key), &format!("{} is not right here: {key} is {right}", shown(value)));
    }

    pub(crate) fn text(&mut self, key: &'static str, errors: &mut Errors) -> Option<String> {
        let value = self.take(key)?;
        if value.as_str().is_none() {
            self.wrong(key, value, "a string", errors);
        }
        value.as_str().map(str::to_owned)
    }

    pub(crate) fn name(&mut self, key: &'static str, errors: &mut Errors) -> String {
        let text = self.text(key, errors).unwrap_or_else(super::default_name);
        let pointer = self.at(key);
        if text.trim().is_empty() {
            errors.add(&pointer, &format!("is empty: leave {key} out or name it"));
        }
        check_text(&pointer, &text, errors);
        text
    }

    pub(crate) fn flag(&mut self, key: &'static str, default: bool, errors: &mut Errors) -> bool {
        let Some(value) = self.take(key) else {
            return default;
        };
        value.as_bool().unwrap_or_else(|| {
            self.wrong(key, value, "true or false", errors);
            default
        })
    }

    pub(crate) fn optional_whole(
        &mut self,
        key: &'static str,
        low: u64,
        high: u64,
        errors: &mut Errors,
    ) -> Option<u64> {
        let value = self.take(key)?;
        let whole = value.as_u64().filter(|n| (low..=high).contains(n));
        if whole.is_none() {
            self.wrong(key, value, &format!("a whole number from {low} to {high}"), errors);
        }
        whole
    }

    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        low: u64,
        high: u64,
        default: u64,
        errors: &mut Errors,
    ) -> u64 {
        self.optional_whole(key, low, high, errors).unwrap_or(default)
    }

    pub(crate) fn number(
        &mut self,
        key: &'static str,
        right: RangeInclusive<f64>,
        errors: &mut Errors,
    ) -> Option<f64> {
        let value = self.take(key)?;
        let number = value.as_f64().filter(|number| right.contains(number));
        if number.is_none() {
            let told = format!("a number from {} to {}", right.start(), right.end());
            self.wrong(key, value, &told, errors);
        }
        number
    }

    pub(crate) fn span(
        &mut self,
        key: &'static str,
        least: Duration,
        most: Duration,
        errors: &mut Errors,
    ) -> Option<Span> {
        let value = self.take(key)?;
        let Some(text) = value.as_str() else {
            self.wrong(key, value, "a string with a unit, such as \"30s\" or \"500ms\"", errors);
            return None;
        };
        match text.parse::<Span>() {
            Err(why) => errors.add(&self.at(key), &why),
            Ok(span) if (least..=most).contains(&span.duration()) => return Some(span),
            Ok(_) => self.wrong(
                key,
                value,
                &format!("a duration from {} to {}", Span::from(least), Span::from(most)),
                errors,
            ),
        }
        None
    }

    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: Choices<T>,
        errors: &mut Errors,
    ) -> Option<T> {
        let value = self.take(key)?;
        let chosen = choices.iter().find(|(name, _)| value.as_str() == Some(name));
        if chosen.is_none() {
            let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.wrong(key, value, &format!("one of {} in this version", names.join(", ")), errors);
        }
        chosen.map(|(_, choice)| *choice)
    }

    pub(crate) fn map(
        &mut self,
        key: &'static str,
        most: usize,
        errors: &mut Errors,
    ) -> BTreeMap<String, String> {
        let pointer = self.at(key);
        string_map(self.take(key), &pointer, most, errors)
    }

    pub(crate) fn refuse_rest(&self, errors: &mut Errors) {
        for key in self.object.keys().filter(|key| !self.asked.contains(key.as_str())) {
            let near = self
                .asked
                .iter()
                .map(|known| (strsim::damerau_levenshtein(key, known), known))
                .filter(|(distance, _)| *distance <= 2)
                .min();
            let known: Vec<&str> = self.asked.iter().copied().collect();
            let hint = near.map_or_else(
                || format!("known are {}", known.join(", ")),
                |(_, known)| format!("did you mean {known:?}?"),
            );
            errors.add(&self.at(key), &format!("unknown field; {hint}"));
        }
    }
}
