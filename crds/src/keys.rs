//! Turns a root and an attempt into the deterministic name of its Match, and a submitter into that of its account.

use sha2::{Digest, Sha256};

/// How much of a root's name is part of its Matches' names, in characters.
const ROOT_NAME_LENGTH_MAX: usize = 54;

/// The name of a root's Match: at most 54 characters of the root's name with dots as dashes, a dash, and 8 hex digits of the SHA-256
/// of `<root uid>/<attempt>`. The same root and attempt always give the same name, so a repeated POST is a 409.
///
/// ```
/// let name = crds::match_name("sim.v2", "0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f", 1);
/// assert!(name.starts_with("sim-v2-") && name.len() == 15);
/// ```
#[must_use]
pub fn match_name(root_name: &str, root_uid: &str, attempt: i32) -> String {
    let stem: String = root_name.chars().take(ROOT_NAME_LENGTH_MAX).map(|c| if c == '.' { '-' } else { c }).collect();
    format!("{stem}-{:.8x}", Sha256::digest(format!("{root_uid}/{attempt}")))
}

/// How much of an owner's name is part of the name of an account, in characters.
const OWNER_LENGTH_MAX: usize = 40;

/// How many hex digits of an owner's SHA-256 are part of the name of an account: so many that nobody finds two owners with the same ones.
const OWNER_DIGITS: usize = 32;

/// The name of the account that the controller creates for a submitter: `ns-<namespace>`, `user-<owner>-<32 hex digits>`, or both with a
/// dot, which no namespace has in its name. Of the owner's name at most 40 characters, in lower case, all but letters and digits as dashes;
/// the digits are of its SHA-256.
///
/// ```
/// assert_eq!(crds::account_name(Some("eda"), None), "ns-eda");
/// assert!(crds::account_name(Some("eda"), Some("Alice@x")).starts_with("ns-eda.user-alice-x-"));
/// ```
#[must_use]
pub fn account_name(namespace: Option<&str>, owner: Option<&str>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let of_owner = |owner: &str| {
        let stem: String = owner.chars().take(OWNER_LENGTH_MAX).map(plain).collect();
        format!("user-{stem}-{:.OWNER_DIGITS$x}", Sha256::digest(owner))
    };
    let parts = [namespace.map(|namespace| format!("ns-{namespace}")), owner.map(of_owner)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::{account_name, match_name};

    #[test]
    fn submitters_with_the_same_beginning_have_accounts_of_their_own() {
        // Both have the same 40 first characters, and SHA-256s that agree in the first 32 bits.
        let [victim, attacker] = ["simulation-project-x-prod:ci-13583", "simulation-project-x-test:s28792"]
            .map(|user| account_name(None, Some(&format!("system:serviceaccount:{user}"))));
        assert_ne!(victim, attacker);
        let of_user = account_name(Some("eda"), Some("alice"));
        let namespace = of_user.trim_start_matches("ns-").replace('.', "-");
        assert_ne!(account_name(Some(&namespace), None), of_user, "a namespace of that name");
        assert!(account_name(Some(&"n".repeat(63)), Some(&"o".repeat(200))).len() < 253);
    }

    #[test]
    fn match_names_are_deterministic_and_differ_by_uid_and_attempt() {
        // printf 'uid-1/1' | sha256sum, 8 digits.
        assert_eq!(match_name("sim", "uid-1", 1), "sim-49a88c84");
        assert_ne!(match_name("sim", "uid-1", 1), match_name("sim", "uid-1", 2));
        assert_ne!(match_name("sim", "uid-1", 1), match_name("sim", "uid-2", 1));
    }

    #[test]
    fn long_names_fit_a_label_and_dots_become_dashes() {
        let name = match_name(&"a.b".repeat(40), "u", 1);
        assert_eq!(name.len(), 63);
        assert!(!name.contains('.'));
        assert!(match_name(&"x".repeat(253), "u", i32::MAX).len() <= 63);
    }
}
