//! What a licence server says of a feature into how many of its seats are used by others.

use std::collections::BTreeSet;

use regex::Regex;

/// What `lmutil lmstat` says of one feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Seats in use, in all.
    pub(crate) in_use: i64,
    /// Their holders: the host, and how many.
    pub(crate) holders: Vec<(String, i64)>,
}

/// Reads the output of `lmutil lmstat -a` or `lmutil lmstat -f FEATURE`. Servers that do not share their seats each say how many are in use.
///
/// # Errors
/// A sentence, if no server says how many seats of the feature are in use.
pub(crate) fn read(output: &str, feature: &str) -> Result<Usage, String> {
    let parts: Vec<Part<'_>> = parts(output);
    // The name as it is written, or else in other letters: the servers do not tell them apart.
    let is_written = parts.iter().any(|part| part.feature == feature);
    let is_it = |part: &&Part<'_>| part.feature == feature || !is_written && part.feature.eq_ignore_ascii_case(feature);
    let (mut usage, mut failure) = (None::<Usage>, None);
    for part in parts.iter().filter(is_it) {
        match in_use(part.said) {
            Some(in_use) => {
                let all = usage.get_or_insert_default();
                all.in_use = all.in_use.saturating_add(in_use);
                all.holders.extend(part.lines.iter().filter_map(|line| holder(line)));
            }
            None => failure = Some(format!("the licence server reports for feature {feature}: {}", part.said)),
        }
    }
    usage.ok_or_else(|| failure.unwrap_or_else(|| silence(output, feature, &parts)))
}

/// What a server says of one feature.
struct Part<'o> {
    feature: &'o str,
    /// Behind its name.
    said: &'o str,
    /// The lines below.
    lines: Vec<&'o str>,
}

fn parts(output: &str) -> Vec<Part<'_>> {
    let mut all: Vec<Part<'_>> = Vec::new();
    for line in output.lines() {
        let head = line.trim_start().strip_prefix("Users of ").and_then(|rest| rest.split_once(':'));
        match (head, all.last_mut()) {
            (Some((feature, said)), _) => {
                all.push(Part { feature: feature.trim(), said: said.trim(), lines: Vec::new() });
            }
            (None, Some(last)) => last.lines.push(line),
            (None, None) => {}
        }
    }
    all
}

/// `(Total of 10 licenses issued;  Total of 3 licenses in use)`
fn in_use(said: &str) -> Option<i64> {
    let part = said.split(';').find(|part| part.contains("in use"))?;
    part.split_whitespace().find_map(|word| word.parse().ok())
}

/// `raman ws-a ws-a:0.0 (v24.1) (licserv/27000 1234), start Fri 11/20 13:02, 2 licenses`
fn holder(line: &str) -> Option<(String, i64)> {
    let (who, rest) = line.split_once(" (v")?;
    let (_, since) = rest.split_once(", start ")?;
    // The user, whose name may have several words, the host, and the display, which may be missing. Some servers add the number of the process.
    let mut words: Vec<&str> = who.split_whitespace().collect();
    if words.len() > 3 && words.last().is_some_and(|last| last.bytes().all(|digit| digit.is_ascii_digit())) {
        words.pop();
    }
    let host = words.get(words.len().saturating_sub(2).max(1))?;
    let seats = since.rsplit(',').next().and_then(|last| {
        let (count, word) = last.trim().split_once(' ')?;
        if word.starts_with("license") { count.parse().ok() } else { None }
    });
    Some(((*host).to_owned(), seats.unwrap_or(1)))
}

fn silence(output: &str, feature: &str, parts: &[Part<'_>]) -> String {
    let said = ["Error", "rror getting status", "not running", "Cannot connect", "No such feature"];
    let nothing = format!("the licence server reports nothing for feature {feature}");
    if !parts.is_empty() {
        let others: BTreeSet<&str> = parts.iter().map(|part| part.feature).collect();
        let named: Vec<&str> = others.iter().take(NAMED_MAX).copied().collect();
        let more =
            if others.len() > NAMED_MAX { format!(", and {} more", others.len() - NAMED_MAX) } else { String::new() };
        return format!("{nothing}; it has {}{more}", named.join(", "));
    }
    match output.lines().find(|line| said.iter().any(|words| line.contains(words))) {
        Some(line) => format!("{nothing}: {}", line.trim()),
        None => nothing,
    }
}

/// How many other features are named.
const NAMED_MAX: usize = 8;

/// How many seats are used outside the cluster: all that are in use but for the `held` ones, those that the cluster's own claims hold. If it is
/// known which hosts belong to the cluster, only seats on these can be the claims'.
pub(crate) fn external_usage(usage: &Usage, inside: &[Regex], held: i64) -> i64 {
    let is_inside = |host: &str| inside.iter().any(|pattern| pattern.is_match(host));
    let on_inside = usage.holders.iter().filter(|(host, _)| is_inside(host)).map(|(_, seats)| *seats);
    // what is in use without a name, such as a reservation, is not the cluster's
    let of_cluster = if inside.is_empty() { held } else { on_inside.fold(0, i64::saturating_add).min(held) };
    usage.in_use.saturating_sub(of_cluster).max(0)
}

/// A pattern of host names, in which `*` stands for anything.
///
/// # Errors
/// The pattern is too large.
pub(crate) fn hosts(pattern: &str) -> Result<Regex, regex::Error> {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^(?i:{})$", parts.join(".*")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on Fri 11/20/2026 14:02

[Detecting lmgrd processes...]
License server status: 27000@licserv
    License file(s) on licserv: /opt/flexlm/license.dat:

   licserv: license server UP (MASTER) v11.18.3

Vendor daemon status (on licserv):

    cdslmd: UP v11.18.3
Feature usage info:

Users of sim_app_hls:  (Total of 2 licenses issued;  Total of 0 licenses in use)

Users of sim_app:  (Total of 10 licenses issued;  Total of 5 licenses in use)

  "sim_app" v2026.06, vendor: cdslmd, expiry: 31-dec-2026
  vendor_string: UHD:PERM
  floating license

    raman ws-a.cs.wisc.edu ws-a:0.0 (v24.1) (licserv/27000 1234), start Fri 11/20 13:02
    livny node-17 /dev/pts/3 (v24.1) (licserv/27000 4321), start Fri 11/20 13:30, 3 licenses
    1 RESERVATION for GROUP night (licserv/27000)

Users of viewer:  (Total of 1 license issued;  Total of 1 license in use)

  "viewer" v2026.06, vendor: cdslmd, expiry: permanent(no expiration date)
  nodelocked license, locked to "ID=12345"

    solomon node-18 node-18 (v1.0) (licserv/27000 77), start Fri 11/20 9:12

Users of old:  (Error: 5 licenses, unsupported by licensed server)
"#;

    #[test]
    fn the_feature_is_found_among_others_of_like_names() {
        let usage = read(OUTPUT, "sim_app").unwrap();
        let holders = [("ws-a.cs.wisc.edu".to_owned(), 1), ("node-17".to_owned(), 3)];
        assert_eq!(usage, Usage { in_use: 5, holders: holders.into() });
        assert_eq!(read(OUTPUT, "sim_app_hls").unwrap(), Usage::default());
        assert_eq!(read(OUTPUT, "viewer").unwrap(), Usage { in_use: 1, holders: vec![("node-18".to_owned(), 1)] });
    }

    #[test]
    fn the_seats_of_several_servers_are_added() {
        let part = |said: &str, holder: &str| {
            format!("Users of sim:  ({said})\n\n    {holder} (v1) (s/1 2), start Fri 11/20 13:02\n\n")
        };
        let of = |in_use: u32| format!("Total of 9 licenses issued;  Total of {in_use} licenses in use");
        let usage =
            read(&[part(&of(3), "ann ws-a :0 4711"), part(&of(5), "John Smith ws-b ws-b")].concat(), "SIM").unwrap();
        assert_eq!(usage, Usage { in_use: 8, holders: vec![("ws-a".to_owned(), 1), ("ws-b".to_owned(), 1)] });
        let error = part("Error: 10 licenses, unsupported by licensed server", "bob ws-c");
        assert_eq!(read(&[error.clone(), part(&of(4), "ann ws-a")].concat(), "sim").unwrap().in_use, 4);
        assert!(read(&error, "sim").is_err());
        // Of two that differ in their letters only, it is the one that is written.
        let both = [part(&of(3), "ann ws-a"), part(&of(5), "ann ws-b").replace("sim", "SIM")].concat();
        assert_eq!(read(&both, "SIM").unwrap().in_use, 5);
    }

    #[test]
    fn a_server_that_does_not_say_is_no_number() {
        let down = "lmutil - Copyright (c) 1989-2022 Flexera.\nFlexible License Manager status on Fri 11/20/2026 14:02\n\n\
            Error getting status: Cannot connect to license server system. (-15,570:115 \"Operation now in progress\")\n";
        let error = read(down, "sim_app").unwrap_err();
        assert!(
            error.starts_with("the licence server reports nothing for feature sim_app: Error getting status: "),
            "{error}"
        );
        let error = read(OUTPUT, "old").unwrap_err();
        assert_eq!(
            error,
            "the licence server reports for feature old: (Error: 5 licenses, unsupported by licensed server)"
        );
        assert_eq!(read("", "x").unwrap_err(), "the licence server reports nothing for feature x");
        let error = read(OUTPUT, "simapp").unwrap_err();
        assert_eq!(
            error,
            "the licence server reports nothing for feature simapp; it has old, sim_app, sim_app_hls, viewer"
        );
    }

    #[test]
    fn seats_of_the_clusters_own_hosts_are_not_outside() {
        let usage = read(OUTPUT, "sim_app").unwrap();
        let patterns = |all: &[&str]| -> Vec<Regex> { all.iter().map(|one| hosts(one).unwrap()).collect() };
        assert_eq!(external_usage(&usage, &patterns(&["node-*"]), 5), 2, "ws-a, and the reservation");
        assert_eq!(external_usage(&usage, &patterns(&["NODE-17", "ws-a.*"]), 4), 1);
        assert_eq!(
            external_usage(&usage, &patterns(&["node-*"]), 1),
            4,
            "two of the three on node-17 belong to no claim"
        );
        assert_eq!(external_usage(&usage, &[], 3), 2, "nobody knows the hosts: all but what claims hold");
        assert_eq!(external_usage(&usage, &[], 9), 0, "claims may hold what is not yet used");
    }
}
