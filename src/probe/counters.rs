//! The texts in which the kernel tells its counters. Pure; what a text does not
//! say, or says in a way of its own, is null.

/// How many microseconds a tick of `/proc/stat` is: `USER_HZ` is 100 wherever
/// this runs.
const TICK_US: u64 = 10_000;

/// One table of `/proc/net/snmp` or `/proc/net/netstat`: a line of names and a
/// line of values, both behind the table's own name.
#[derive(Debug, Default)]
pub(crate) struct Table<'a> {
    names: &'a str,
    values: &'a str,
}

/// The table of that name; an empty one when there is none.
pub(crate) fn table<'a>(text: &'a str, name: &str) -> Table<'a> {
    let mut rows = text.lines().filter_map(|line| {
        let (table, row) = line.split_once(':')?;
        (table == name).then_some(row)
    });
    match (rows.next(), rows.next()) {
        (Some(names), Some(values)) => Table { names, values },
        _ => Table::default(),
    }
}

impl Table<'_> {
    /// The value below that name.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        let mut columns = self.names.split_whitespace().zip(self.values.split_whitespace());
        columns.find(|(column, _)| *column == name)?.1.parse().ok()
    }

    /// The sum of those of the columns that there are.
    pub(crate) fn sum(&self, names: &[&str]) -> Option<u64> {
        names.iter().filter_map(|name| self.count(name)).reduce(u64::saturating_add)
    }
}

/// Packets dropped on all processors: `/proc/net/softnet_stat` has a line of
/// hexadecimal columns for each, and the second is the drops.
pub(crate) fn softnet_drops(text: &str) -> Option<u64> {
    let of_line = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    text.lines().map(of_line).try_fold(None, |sum: Option<u64>, drops| {
        Some(Some(sum.unwrap_or(0).saturating_add(drops?)))
    })?
}

/// Time stolen from all processors: the eighth figure of the `cpu` line of
/// `/proc/stat`.
pub(crate) fn stolen_us(text: &str) -> Option<u64> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    all.split_whitespace().nth(7)?.parse::<u64>().ok()?.checked_mul(TICK_US)
}

/// Time in which a control group was stopped, from its `cpu.stat`: in
/// microseconds in version 2, in nanoseconds in version 1.
pub(crate) fn cpu_stat(text: &str) -> Option<u64> {
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", micros) => micros.trim().parse().ok(),
        ("throttled_time", nanos) => nanos.trim().parse::<u64>().ok().map(|nanos| nanos / 1000),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{cpu_stat, softnet_drops, stolen_us, table};
    use proptest::prelude::*;

    const SNMP: &str = "\
        Icmp: InMsgs InErrors\nIcmp: 14 0\n\
        Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\n\
        Tcp: 1 -1 250 245 7 0\n\
        Udp: InDatagrams\nUdp: 9\n";

    #[test]
    fn values_are_found_by_their_names() {
        let tcp = table(SNMP, "Tcp");
        assert_eq!((tcp.count("OutSegs"), tcp.count("RetransSegs")), (Some(245), Some(7)));
        assert_eq!(tcp.count("MaxConn"), None, "a figure below zero is no count");
        assert_eq!(tcp.count("Nonsense"), None);
        assert_eq!(tcp.sum(&["InSegs", "InErrs", "Nonsense"]), Some(250));
        assert_eq!(tcp.sum(&["Nonsense"]), None);
        assert_eq!(table(SNMP, "Icmp").count("InMsgs"), Some(14));
        assert_eq!(table(SNMP, "TcpExt").count("OutSegs"), None);
    }

    #[test]
    fn a_table_that_was_cut_off_has_the_columns_that_are_there() {
        let short = table("Tcp: A B C\nTcp: 1 2", "Tcp");
        assert_eq!((short.count("B"), short.count("C")), (Some(2), None));
        assert_eq!(table("Tcp: A B C\n", "Tcp").count("A"), None);
        assert_eq!(table("", "Tcp").count("A"), None);
    }

    #[test]
    fn drops_of_all_processors_add_up() {
        let text = "088d9dee 0000000a 00000004 00000000\n08272a3f 00000105 00000006 00000000\n";
        assert_eq!(softnet_drops(text), Some(0x10f));
        assert_eq!(softnet_drops("088d9dee\n"), None);
        assert_eq!(softnet_drops("088d9dee zz\n"), None);
        assert_eq!(softnet_drops(""), None);
    }

    #[test]
    fn time_is_told_in_microseconds() {
        let stat = "cpu  818745 132507 453357 674157 43989 0 92033 301 0 0\ncpu0 1 2 3 4 5 6 7 8\n";
        assert_eq!(stolen_us(stat), Some(3_010_000));
        assert_eq!(stolen_us("cpu  1 2 3 4\n"), None, "kernels before 2.6.11");
        let (v2, v1) =
            ("usage_usec 5\nnr_throttled 2\nthrottled_usec 420\n", "throttled_time 420999\n");
        assert_eq!((cpu_stat(v2), cpu_stat(v1)), (Some(420), Some(420)));
        assert_eq!(cpu_stat("usage_usec 5\n"), None, "a group without a quota");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Tcp:|cpu |throttled_usec|[0-9a-f]{1,20}|[ \n:-]|\\PC){0,40}") {
            let tcp = table(&text, "Tcp");
            let counts = (tcp.count("OutSegs"), tcp.sum(&["1", "2"]));
            let times = (softnet_drops(&text), stolen_us(&text), cpu_stat(&text));
            prop_assert!(text.contains("Tcp:") || counts == (None, None));
            prop_assert!(text.contains("cpu ") || times.1.is_none());
        }
    }
}
