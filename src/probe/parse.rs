//! Reads a stub_status page, nginx's and that of its relatives. Columns are
//! read by header name. Owns the text only, never where it came from.

use benchd_model::stub_status::StubStatus;

/// How much of a foreign page an error quotes, in characters.
const QUOTED: usize = 60;

/// Why a text is no stub_status page: what was seen and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Nothing at all.
    #[error("the page is empty; a stub_status page begins with \"Active connections:\"")]
    Empty,
    /// Another kind of page that is known by its looks.
    #[error("the page is {kind} ({seen:?}), no stub_status page; {right}")]
    Foreign {
        /// What it is.
        kind: &'static str,
        /// Its beginning.
        seen: String,
        /// What to do instead.
        right: &'static str,
    },
    /// Something of a stub_status page is there, and something is missing.
    #[error("the page is incomplete: {missing} is missing after {seen:?}")]
    Incomplete {
        /// The figure or line that is missing.
        missing: String,
        /// How the text ends.
        seen: String,
    },
    /// The numbers do not stand under the names.
    #[error("the line of counters has {values} numbers for {columns} names ({seen:?})")]
    Columns {
        /// Names in the header line.
        columns: usize,
        /// Numbers below it.
        values: usize,
        /// The line of numbers.
        seen: String,
    },
    /// A figure is no unsigned 64-bit number.
    #[error("{figure} is {seen:?}, where a whole number from 0 was expected")]
    Number {
        /// Which figure.
        figure: String,
        /// What stands there.
        seen: String,
    },
    /// A figure went below zero and was printed as a huge number.
    #[error(
        "{figure} is {value}, which is {} printed without its sign: nginx's count leaked \
         (a worker died); only a restart of nginx mends it", *value as i64
    )]
    Negative {
        /// Which figure.
        figure: String,
        /// The number as printed.
        value: u64,
    },
    /// A figure stands there twice.
    #[error("{figure} stands there twice; this is more than one stub_status page")]
    Repeated {
        /// Which figure.
        figure: String,
    },
}

/// Reads a stub_status page: stock nginx, OpenResty, Angie, Tengine. Columns
/// and lines it does not know are ignored.
///
/// # Errors
/// What was seen instead, and what would be right.
pub fn parse_stub_status(text: &str) -> Result<StubStatus, ParseError> {
    let text = text.trim_start_matches('\u{feff}');
    refuse_foreign(text)?;
    let mut page = Page::default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let end = line.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(line.len());
        let (first, rest) = line.split_at(end);
        match first.to_ascii_lowercase().as_str() {
            "active" => page.active(rest, line)?,
            "server" => page.counters(rest, lines.next().unwrap_or(""))?,
            "reading" => page.states(line)?,
            _ => {}
        }
    }
    page.finish(text)
}

fn refuse_foreign(text: &str) -> Result<(), ParseError> {
    let start = text.trim_start();
    if start.is_empty() {
        return Err(ParseError::Empty);
    }
    let lower: String = start.chars().take(400).collect::<String>().to_ascii_lowercase();
    let foreign = |kind, right| Err(ParseError::Foreign { kind, seen: beginning(start), right });
    if start.starts_with('<') {
        return foreign("HTML or XML", "is `stub_status;` set in exactly this location?");
    }
    if start.starts_with(['{', '[']) {
        return foreign(
            "JSON, perhaps of nginx-module-vts or a status API",
            "give the URL of a location with `stub_status;`",
        );
    }
    if lower.starts_with("pool:") || lower.contains("accepted conn:") {
        return foreign(
            "php-fpm's status page",
            "give the URL of nginx's own location with `stub_status;`",
        );
    }
    if !["active connections", "server accepts", "reading:"].iter().any(|sign| lower.contains(sign))
    {
        return foreign("something else", "a stub_status page begins with \"Active connections:\"");
    }
    Ok(())
}

/// The figures found so far.
#[derive(Default)]
struct Page {
    active: Option<u64>,
    accepts: Option<u64>,
    handled: Option<u64>,
    requests: Option<u64>,
    request_time: Option<u64>,
    reading: Option<u64>,
    writing: Option<u64>,
    waiting: Option<u64>,
}

impl Page {
    /// `Active connections: 291`
    fn active(&mut self, rest: &str, line: &str) -> Result<(), ParseError> {
        let Some((name, value)) = rest.split_once(':') else {
            return Err(incomplete("the number of active connections", line));
        };
        if name.trim().eq_ignore_ascii_case("connections") {
            set(&mut self.active, "active connections", value.trim())?;
        }
        Ok(())
    }

    /// `server accepts handled requests` and the numbers below.
    fn counters(&mut self, names: &str, numbers: &str) -> Result<(), ParseError> {
        let names: Vec<&str> = names.split_whitespace().collect();
        let values: Vec<&str> = numbers.split_whitespace().collect();
        if let Some(missing) = names.get(values.len()) {
            return Err(incomplete(missing, numbers));
        }
        if values.len() > names.len() {
            return Err(ParseError::Columns {
                columns: names.len(),
                values: values.len(),
                seen: beginning(numbers),
            });
        }
        for (name, value) in names.into_iter().zip(values) {
            match name.to_ascii_lowercase().as_str() {
                "accepts" => set(&mut self.accepts, name, value)?,
                "handled" => set(&mut self.handled, name, value)?,
                "requests" => set(&mut self.requests, name, value)?,
                "request_time" => set(&mut self.request_time, name, value)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// `Reading: 6 Writing: 179 Waiting: 106`, with or without blanks.
    fn states(&mut self, line: &str) -> Result<(), ParseError> {
        let spaced = line.replace(':', ": ");
        let mut words = spaced.split_whitespace();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(':') else { continue };
            let Some(value) = words.next() else {
                return Err(incomplete(name, line));
            };
            match name.to_ascii_lowercase().as_str() {
                "reading" => set(&mut self.reading, name, value)?,
                "writing" => set(&mut self.writing, name, value)?,
                "waiting" => set(&mut self.waiting, name, value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(self, text: &str) -> Result<StubStatus, ParseError> {
        let need = |figure: Option<u64>, name| figure.ok_or_else(|| incomplete(name, text));
        Ok(StubStatus {
            active: need(self.active, "\"Active connections:\"")?,
            accepts: need(self.accepts, "accepts")?,
            handled: need(self.handled, "handled")?,
            requests: need(self.requests, "requests")?,
            reading: need(self.reading, "\"Reading:\"")?,
            writing: need(self.writing, "\"Writing:\"")?,
            waiting: need(self.waiting, "\"Waiting:\"")?,
            request_time_ms: self.request_time,
        })
    }
}

fn set(slot: &mut Option<u64>, figure: &str, seen: &str) -> Result<(), ParseError> {
    let figure = figure.to_owned();
    if seen.is_empty() {
        return Err(incomplete(&figure, ""));
    }
    if !seen.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::Number { figure, seen: beginning(seen) });
    }
    let Ok(value) = seen.parse::<u64>() else {
        return Err(ParseError::Number { figure, seen: beginning(seen) });
    };
    if value > i64::MAX as u64 {
        return Err(ParseError::Negative { figure, value });
    }
    if slot.replace(value).is_some() {
        return Err(ParseError::Repeated { figure });
    }
    Ok(())
}

fn incomplete(missing: &str, text: &str) -> ParseError {
    let text = text.trim_end();
    let skip = text.chars().count().saturating_sub(QUOTED);
    ParseError::Incomplete { missing: missing.to_owned(), seen: text.chars().skip(skip).collect() }
}

fn beginning(text: &str) -> String {
    let mut start: String = text.trim().chars().take(QUOTED).collect();
    if start.len() < text.trim().len() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::{ParseError, parse_stub_status};
    use benchd_model::stub_status::StubStatus;
    use proptest::prelude::*;

    const NGINX: &str = "Active connections: 291 \nserver accepts handled requests\n \
                         16630948 16630946 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
    const TENGINE: &str = "Active connections: 1 \nserver accepts handled requests request_time\n \
                           1140 1140 1141 75806\nReading: 0 Writing: 1 Waiting: 0 \n";

    fn stock() -> StubStatus {
        StubStatus {
            active: 291,
            accepts: 16_630_948,
            handled: 16_630_946,
            requests: 31_070_465,
            reading: 6,
            writing: 179,
            waiting: 106,
            request_time_ms: None,
        }
    }

    fn refusal(text: &str) -> String {
        parse_stub_status(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_stock_nginx_and_its_relatives() {
        assert_eq!(parse_stub_status(NGINX), Ok(stock()));
        let tengine = parse_stub_status(TENGINE).unwrap();
        assert_eq!(tengine.request_time_ms, Some(75_806));
        assert_eq!((tengine.accepts, tengine.requests), (1140, 1141));
    }

    #[test]
    fn reads_columns_by_name_and_ignores_unknown_ones() {
        let swapped = "Active connections: 291\nserver requests foo handled accepts\n\
                       31070465 -7 16630946 16630948\nNote: 3\n\
                       Reading: 6 Resting: none Waiting: 106 Writing: 179\n";
        assert_eq!(parse_stub_status(swapped), Ok(stock()));
    }

    #[test]
    fn does_not_mind_spacing_line_ends_or_case() {
        let odd = "\u{feff}\r\n  Active   connections:291\r\n\r\nServer\taccepts  handled requests \r\n\
                   16630948\t16630946   31070465\r\n  Reading:6 Writing:179   Waiting: 106";
        assert_eq!(parse_stub_status(odd), Ok(stock()));
    }

    #[test]
    fn refuses_other_pages_by_name() {
        assert_eq!(parse_stub_status(" \r\n"), Err(ParseError::Empty));
        let html =
            refusal("<html>\n<head><title>404 Not Found</title></head>\nActive connections: 1");
        assert!(html.contains("HTML") && html.contains("stub_status;"), "{html}");
        let vts = refusal("{\"hostName\":\"a\",\"connections\":{\"active\":1}}");
        assert!(vts.contains("JSON") && vts.contains("vts"), "{vts}");
        let fpm = refusal(
            "pool:                 www\nprocess manager:      dynamic\naccepted conn:        12\n",
        );
        assert!(fpm.contains("php-fpm"), "{fpm}");
        let apache = refusal("Total Accesses: 12\nTotal kBytes: 3\n");
        assert!(
            apache.contains("Total Accesses") && apache.contains("Active connections:"),
            "{apache}"
        );
    }

    #[test]
    fn says_what_is_missing_of_a_truncated_page() {
        assert!(refusal("Active connections: ").contains("active connections is missing"));
        assert!(refusal("Active connections").contains("active connections is missing"));
        let cut = refusal("Active connections: 1 \nserver accepts handled requests\n 5 5");
        assert!(cut.contains("requests is missing after \"5 5\""), "{cut}");
        let last = refusal(
            "Active connections: 1 \nserver accepts handled requests\n 5 5 5 \nReading: 0 Writing:",
        );
        assert!(last.contains("Writing is missing"), "{last}");
        let body = NGINX.trim_end().len();
        for end in (0..body).filter(|end| !NGINX[..*end].ends_with(|c: char| c.is_ascii_digit())) {
            assert!(parse_stub_status(&NGINX[..end]).is_err(), "{:?}", &NGINX[..end]);
        }
    }

    #[test]
    fn refuses_figures_that_are_none() {
        let negative = refusal(&NGINX.replace("179", "18446744073709551615"));
        assert!(negative.contains("Writing") && negative.contains("-1"), "{negative}");
        assert!(parse_stub_status(&NGINX.replace("291", "9223372036854775807")).is_ok());
        let huge = refusal(&NGINX.replace("291", "18446744073709551616"));
        assert!(huge.contains("whole number"), "{huge}");
        assert!(refusal(&NGINX.replace("291", "-1")).contains("whole number"));
        assert!(refusal(&NGINX.replace("291", "+1")).contains("whole number"));
        assert!(refusal(&NGINX.replace("31070465", "1 2")).contains("4 numbers for 3 names"));
        assert!(refusal(&format!("{NGINX}{NGINX}")).contains("twice"));
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _answer = parse_stub_status(&text);
        }

        #[test]
        fn never_panics_on_damaged_pages(cut in 0usize..140, junk in "[\\PC \\n:]{0,12}", at in 0usize..140) {
            let mut page = TENGINE.to_owned();
            page.truncate(cut.min(page.len()));
            page.insert_str(at.min(page.len()), &junk);
            let _answer = parse_stub_status(&page);
        }

        #[test]
        fn reads_back_every_figure(figures in prop::array::uniform7(0..=i64::MAX as u64)) {
            let [active, accepts, handled, requests, reading, writing, waiting] = figures;
            let page = format!(
                "Active connections: {active} \nserver accepts handled requests\n \
                 {accepts} {handled} {requests} \nReading: {reading} Writing: {writing} Waiting: {waiting} \n"
            );
            let expected = StubStatus {
                active, accepts, handled, requests, reading, writing, waiting, request_time_ms: None,
            };
            prop_assert_eq!(parse_stub_status(&page), Ok(expected));
        }
    }
}
