//! Where stored things are read and changed: in a service, or in the local database.

use crate::args::Place;
use crate::client::Client;
use crate::local;
use crate::serve::read_token;
use benchd_store::Store;

pub(crate) enum Records {
    Service(Box<Client>),
    Local(Store),
}

impl Records {
    pub(crate) async fn at(place: &Place) -> anyhow::Result<Self> {
        Ok(match &place.server {
            Some(server) => {
                Self::Service(Box::new(Client::new(server, read_token(&place.token)?)?))
            }
            None => Self::Local(local::open_store(place.database.database.as_deref()).await?),
        })
    }
}

/// A path with a query of the parameters that have a value.
pub(crate) fn path(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    format!("{path}?{}", query.finish())
}

/// Rows under their titles, each column as wide as it needs to be.
pub(crate) fn table<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([titles[column].chars().count()]).max().unwrap_or(0)
    };
    let line = |cells: [&str; N]| {
        let mut line = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            line.push_str(&format!("{cell:width$}  ", width = width(column)));
        }
        format!("{}\n", line.trim_end())
    };
    let mut text = line(titles);
    for row in rows {
        text.push_str(&line(row.each_ref().map(String::as_str)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{path, table};

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let rows = [["ä".to_owned(), "long one".to_owned()], ["bcd".to_owned(), String::new()]];
        assert_eq!(table(["a", "b"], &rows), "a    b\nä    long one\nbcd\n");
    }

    #[test]
    fn a_query_has_what_was_given() {
        let asked = path("history", &[("project", Some("a & b")), ("branch", None)]);
        assert_eq!(asked, "history?project=a+%26+b");
    }
}
