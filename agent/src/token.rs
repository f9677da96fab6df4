//! A token file into a token that does not expire: the agent asks for the next token of its own ServiceAccount in time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde::Deserialize;
use tokio::time::timeout;

/// The longest that a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// The shortest lifetime that an API server grants, in seconds.
const LIFETIME_MIN: i64 = 600;
/// The pause after a failure, and the least pause between two renewals.
const PAUSE: Duration = Duration::from_secs(30);
/// The longest pause: another token may have been written to the file meanwhile.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// What a token of a ServiceAccount says of itself. It is read and not verified: the API server verifies it.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Claims {
    /// `system:serviceaccount:NAMESPACE:NAME`.
    sub: String,
    /// When it was issued, in seconds since 1970.
    iat: i64,
    /// When it expires, in seconds since 1970.
    exp: i64,
}

impl Claims {
    /// Reads the claims of a JSON Web Token (RFC 7519).
    ///
    /// # Errors
    /// It is not such a token, or does not say whose it is and until when.
    pub(crate) fn of(token: &str) -> Result<Claims, String> {
        let payload = token.trim().split('.').nth(1).ok_or("it is not a JSON Web Token")?;
        let json = URL_SAFE_NO_PAD.decode(payload).map_err(|error| format!("it is not a JSON Web Token: {error}"))?;
        serde_json::from_slice(&json).map_err(|error| format!("it is not a token of a ServiceAccount: {error}"))
    }

    /// Namespace and name of the ServiceAccount.
    fn account(&self) -> Option<(&str, &str)> {
        self.sub.strip_prefix("system:serviceaccount:")?.split_once(':')
    }

    fn lifetime(&self) -> i64 {
        self.exp.saturating_sub(self.iat).max(LIFETIME_MIN)
    }

    fn expires(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.exp).ok()
    }

    /// How long to wait before it is renewed: until less than `before` of it is left, by default half of its lifetime.
    fn wait(&self, now: Timestamp, before: Option<Duration>) -> Duration {
        let before = before.map_or(self.lifetime() / 2, |before| i64::try_from(before.as_secs()).unwrap_or(i64::MAX));
        let due = self.exp.saturating_sub(before);
        Duration::from_secs(u64::try_from(due.saturating_sub(now.as_second())).unwrap_or(0))
    }
}

/// Says when a token expires that stands in the kubeconfig itself, since nothing renews it.
pub(crate) fn announce(token: &str) {
    if let Some(expires) = Claims::of(token).ok().and_then(|claims| claims.expires()) {
        tracing::warn!(%expires, "the token in the kubeconfig is not renewed; to have it renewed, put it into a file and name that as tokenFile");
    }
}

/// Keeps the token in `file` fresh. Ends only if the file has a token that cannot be renewed.
pub(crate) async fn keep(client: Client, file: PathBuf, before: Option<Duration>) {
    loop {
        let pause = match turn(&client, &file, before).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(file = %file.display(), error = format!("{error:#}"), "the token was not renewed; retrying");
                PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Renews the token if it is time; returns the pause until the next look at the file.
async fn turn(client: &Client, file: &Path, before: Option<Duration>) -> anyhow::Result<Duration> {
    let token = std::fs::read_to_string(file).context("the token file cannot be read")?;
    let claims = Claims::of(&token).map_err(anyhow::Error::msg)?;
    let wait = claims.wait(Timestamp::now(), before);
    if !wait.is_zero() {
        return Ok(wait.min(PAUSE_MAX));
    }
    let Some((namespace, name)) = claims.account() else {
        bail!("it is a token of {}; only tokens of ServiceAccounts can be renewed", claims.sub);
    };
    let next = request(client, namespace, name, claims.lifetime()).await?;
    write(file, &next).context("the token file cannot be written")?;
    let expires = Claims::of(&next).ok().and_then(|claims| claims.expires()).unwrap_or_default();
    tracing::info!(file = %file.display(), %expires, "the token was renewed");
    Ok(PAUSE)
}

async fn request(client: &Client, namespace: &str, name: &str, seconds: i64) -> anyhow::Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer = timeout(REQUEST_MAX, accounts.create_token_request(name, &PostParams::default(), &request)).await;
    let answer = answer.context("no answer in time")??;
    let name = answer.name_any();
    answer.status.map(|status| status.token).with_context(|| format!("the answer for {name} has no token"))
}

/// Replaces the file in one step: a reader sees the former token or the next one. Only its owner can read it.
fn write(file: &Path, token: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let next = file.with_extension("next");
    let mut options = std::fs::OpenOptions::new();
    let mut open = options.write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    open.write_all(token.as_bytes())?;
    open.sync_all()?;
    std::fs::rename(next, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(payload: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
    }

    #[test]
    fn a_token_is_renewed_when_half_of_its_lifetime_is_over() {
        let claims =
            Claims::of(&token(r#"{"sub":"system:serviceaccount:grid:agent-foo","iat":1000,"exp":87400}"#)).unwrap();
        assert_eq!(claims.account(), Some(("grid", "agent-foo")));
        let wait = |now: i64, before| claims.wait(Timestamp::from_second(now).unwrap(), before);
        assert_eq!(wait(1000, None), Duration::from_secs(43_200));
        assert_eq!(wait(44_200, None), Duration::ZERO);
        assert_eq!(wait(90_000, None), Duration::ZERO, "it has expired: the request will say so");
        assert_eq!(wait(87_000, Some(Duration::from_secs(60))), Duration::from_secs(340));
    }

    #[test]
    fn what_is_no_token_of_a_service_account_says_so() {
        assert!(Claims::of("secret").unwrap_err().contains("not a JSON Web Token"));
        assert!(Claims::of("a.b$.c").unwrap_err().contains("not a JSON Web Token"));
        assert!(Claims::of(&token(r#"{"sub":"ann"}"#)).unwrap_err().contains("iat"));
        let person = Claims::of(&token(r#"{"sub":"ann","iat":0,"exp":10}"#)).unwrap();
        assert_eq!(person.account(), None);
    }

    #[test]
    fn the_file_is_replaced_and_only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("gangmatch-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("token");
        std::fs::write(&file, "old").unwrap();
        write(&file, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
