//! What a licence server says of a feature into how many of its seats are used by others.

use regex::Regex;

/// What `lmutil lmstat` says of one feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Seats in use, in all.
    pub(crate) in_use: i64,
    /// Their holders: the host, and how many.
    pub(crate) holders: Vec<(String, i64)>,
}

/// Reads the output of `lmutil lmstat -a` or `lmutil lmstat -f FEATURE`.
///
/// # Errors
/// A sentence, if the server does not say how many seats of the feature are in use.
pub(crate) fn read(output: &str, feature: &str) -> Result<Usage, String> {
    let mut lines = output.lines();
    let head = lines.by_ref().find_map(|line| {
        let rest = line.trim_start().strip_prefix("Users of ")?;
        let (name, said) = rest.split_once(':')?;
        (name.trim() == feature).then(|| said.trim().to_owned())
    });
    let Some(said) = head else { return Err(silence(output, feature)) };
    let Some(in_use) = in_use(&said) else {
        return Err(format!("the licence server reports for feature {feature}: {said}"));
    };
    let of_feature = lines.take_while(|line| !line.trim_start().starts_with("Users of "));
    Ok(Usage { in_use, holders: of_feature.filter_map(holder).collect() })
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
    let host = who.split_whitespace().nth(1)?;
    let seats = since.rsplit(',').next().and_then(|last| {
        let (count, word) = last.trim().split_once(' ')?;
        if word.starts_with("license") { count.parse().ok() } else { None }
    });
    Some((host.to_owned(), seats.unwrap_or(1)))
}

fn silence(output: &str, feature: &str) -> String {
    let said = ["Error", "rror getting status", "not running", "Cannot connect", "No such feature"];
    let line = output.lines().find(|line| said.iter().any(|words| line.contains(words)));
    match line {
        Some(line) => format!("the licence server reports nothing for feature {feature}: {}", line.trim()),
        None => format!("the licence server reports nothing for feature {feature}"),
    }
}

/// How many seats are used outside the cluster. If it is known which hosts belong to the cluster, it is those that others
/// have; else all that are in use but for the `held` ones, those that the cluster's own claims hold.
pub(crate) fn external_usage(usage: &Usage, inside: &[Regex], held: i64) -> i64 {
    if inside.is_empty() {
        return usage.in_use.saturating_sub(held).max(0);
    }
    let is_inside = |host: &str| inside.iter().any(|pattern| pattern.is_match(host));
    let of_cluster = usage.holders.iter().filter(|(host, _)| is_inside(host)).map(|(_, seats)| *seats);
    // what is in use without a name, such as a reservation, is not the cluster's
    usage.in_use.saturating_sub(of_cluster.fold(0, i64::saturating_add)).max(0)
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
    }

    #[test]
    fn seats_of_the_clusters_own_hosts_are_not_outside() {
        let usage = read(OUTPUT, "sim_app").unwrap();
        let patterns = |all: &[&str]| -> Vec<Regex> { all.iter().map(|one| hosts(one).unwrap()).collect() };
        assert_eq!(external_usage(&usage, &patterns(&["node-*"]), 0), 2, "ws-a, and the reservation");
        assert_eq!(external_usage(&usage, &patterns(&["NODE-17", "ws-a.*"]), 0), 1);
        assert_eq!(external_usage(&usage, &[], 3), 2, "nobody knows the hosts: all but what claims hold");
        assert_eq!(external_usage(&usage, &[], 9), 0, "claims may hold what is not yet used");
    }
}
