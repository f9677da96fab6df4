//! An agent outside the cluster keeps its own token fresh, and can do no more than that.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::{Agent, rights, voting};
use crate::stage::Stage;

/// A kubeconfig that names a file with its token, beside the one that has the token inside.
fn with_token_file(kubeconfig: &Path, token: &Path) -> PathBuf {
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
    let user = config.pointer_mut("/users/0/user").unwrap();
    std::fs::write(token, user["token"].as_str().unwrap()).unwrap();
    *user = json!({"tokenFile": token});
    let path = kubeconfig.with_extension("file.kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

#[test]
fn an_agent_renews_its_own_token_and_no_other() {
    let here = Stage::shared().namespace("token");
    here.apply(&voting(&here, "m", 20));
    let kubeconfig = rights(&here, "Machine", "m");
    let file = kubeconfig.with_extension("token");
    let agent = with_token_file(&kubeconfig, &file);
    let first = std::fs::read_to_string(&file).unwrap();
    // More than the hour that the token lasts: it is renewed at once.
    let _agent = Agent::start_with(&here, "Machine", "m", &agent, &["--renew-token-before=3700"]);
    let next = here.until("another token in the file", || {
        std::fs::read_to_string(&file).ok().filter(|now| *now != first && !now.is_empty())
    });
    let access = here.access();
    let whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", "--kubeconfig"];
    let path = agent.display().to_string();
    let user = access.kubectl_text(&[&whoami[..], &[&path]].concat(), None).unwrap();
    assert_eq!(user, format!("system:serviceaccount:{}:agent-m", here.name));
    assert_eq!(next.split('.').count(), 3);
    let other = ["create", "token", "default", "-n", &here.name, "--kubeconfig", &path];
    assert!(access.kubectl_text(&other, None).unwrap_err().to_string().contains("forbidden"));
}
