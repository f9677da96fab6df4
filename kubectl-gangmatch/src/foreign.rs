//! Verbs and options of other programs for queues, HTCondor's above all, and what to write instead.

/// Verbs, and what to write instead.
pub(crate) const VERBS: [(&[&str], &str); 28] = [
    (&["list", "ls", "jobs"], "write queue for the jobs that wait, status for the pool, or kubectl get gmj,gmm,gml"),
    (&["get"], "write kubectl get gmj,gmm,gml,gmatch"),
    (&["q"], "write queue for the jobs that wait, or kubectl get gmj"),
    (&["machines"], "write query machines, or kubectl get gmm"),
    (&["who"], "write kubectl get gmatch -A"),
    (&["stop"], "write suspend JOB, or drain machine/NAME or license/NAME"),
    (&["hold"], "write suspend JOB"),
    (&["unhold"], "write resume JOB"),
    (&["rm"], "write cancel JOB"),
    (&["delete"], "write cancel JOB, or kubectl delete gmj JOB"),
    (&["vacate"], "write release JOB --requeue for a job, or drain machine/NAME --evict for a machine"),
    (&["vacate_job", "vacate-job"], "write release JOB --requeue"),
    (&["better-analyze", "better_analyze", "analyze"], "write why JOB"),
    (&["explain"], "write why JOB; for fields, kubectl explain gmj.spec"),
    (
        &["submit"],
        "write kubectl apply -f FILE, or simulate -f FILE to try it; import FILE converts a submit file of HTCondor",
    ),
    (&["apply", "create", "run"], "write kubectl apply -f FILE, or simulate -f FILE to try it"),
    (&["prio"], "write kubectl patch gmj JOB --type=merge -p '{\"spec\": {\"priority\": N}}'"),
    (&["qedit", "edit"], "write kubectl edit gmj JOB, while the job is not claimed"),
    (&["ssh", "ssh_to_job", "ssh-to-job"], "write kubectl exec -it POD -- sh, with a pod of the job"),
    (&["tail", "logs"], "write kubectl logs POD, with a pod of the job"),
    (&["wait"], "write kubectl wait gmj/JOB --for=condition=Finished"),
    (&["watch"], "write top"),
    (&["version"], "write --version"),
    (&["reschedule"], "jobs are matched as soon as something has changed, without a command"),
    (&["now"], "there is none: an administrator can permit preemption, which chooses the job that ends"),
    (&["off", "on", "restart"], "set the replicas of the chart to 0, and back; claims stay"),
    (&["config_val", "config-val", "config"], "write helm get values gangmatch, or kubectl get gmp pool -o yaml"),
    (&["dagman", "submit_dag", "submit-dag"], "there is none: use a workflow engine of Kubernetes"),
];

/// Commands of HTCondor that have the name of a verb which does something else.
const OTHERWISE: [(&str, &str); 1] =
    [("condor_release", "write resume JOB, which puts a suspended job back; release JOB ends the claim of a job")];

/// Options, without what may follow a colon, and what to write instead.
pub(crate) const OPTIONS: [(&[&str], &str); 26] = [
    (&["-af", "-autoformat", "-format", "-pr", "-print-format"], "write query KIND -a NAME,NAME"),
    (&["-constraint", "-const", "-cons"], "write query KIND -c EXPR"),
    (&["-long"], "write describe KIND/NAME, or kubectl get gmj NAME -o yaml"),
    (&["-better-analyze", "-better", "-analyze", "-ana"], "write why JOB, or why machine/NAME"),
    (&["-allusers", "-all", "-global"], "write -A for all namespaces, or -o wide for all columns"),
    (&["-nobatch", "-nob", "-batch"], "leave it out: each job has a row of its own"),
    (&["-run", "-running"], "write query jobs -c 'Phase == \"Running\"'"),
    (&["-hold", "-held"], "write query jobs -c 'Phase == \"Suspended\"'"),
    (&["-idle"], "write queue"),
    (&["-claimed"], "write kubectl get gmatch -A"),
    (&["-avail", "-available"], "write query machines -c 'State == \"Available\"'"),
    (&["-sort"], "write query KIND --sort EXPR"),
    (&["-limit"], "write --limit N"),
    (&["-json", "-xml", "-jsonl"], "write -o json"),
    (&["-wide"], "write -o wide"),
    (&["-total", "-totals", "-compact", "-negotiator", "-schedd", "-schedds", "-master", "-startd"], "write status"),
    (&["-submitters", "-submitter"], "write userprio"),
    (
        &["-setfactor", "-setprio"],
        "write kubectl patch gma NAME --type=merge -p '{\"spec\": {\"weight\": N}}'; with a larger weight, an account deserves more",
    ),
    (&["-setceiling", "-setceil", "-setfloor"], "write kubectl edit gma NAME, and max or min of its quotas"),
    (&["-quotas", "-grouporder"], "write quota"),
    (&["-fast"], "write drain machine/NAME --evict"),
    (&["-name"], "write the name without an option, and -n NAMESPACE for its namespace"),
    (&["-pool"], "write --context NAME"),
    (&["-file", "-jobads", "-slotads"], "write -f FILE"),
    (&["-forcex"], "write kubectl delete gmj JOB"),
    (&["-owner", "-user"], "write query jobs -c 'Owner == \"NAME\"'"),
];

/// What is said of a command line whose verb is another program's. HTCondor's commands may be written with `condor_`.
pub(crate) fn verb(word: &str, is_own: impl Fn(&str) -> bool) -> Option<String> {
    let found = |word: &str| {
        let found = VERBS.iter().find(|(verbs, _)| verbs.contains(&word));
        found.map(|(_, instead)| (*instead).to_owned())
    };
    let instead = match word.strip_prefix("condor_") {
        None => found(word)?,
        Some(rest) => {
            let otherwise = OTHERWISE.iter().find(|(command, _)| *command == word);
            let own = || is_own(rest).then(|| format!("write {rest}"));
            otherwise.map(|(_, instead)| (*instead).to_owned()).or_else(own).or_else(|| found(rest))?
        }
    };
    Some(format!("there is no verb `{word}`; {instead}"))
}

/// What is said of the first option of these words that is another program's.
pub(crate) fn option(words: &[String]) -> Option<String> {
    let words = words.iter().take_while(|word| *word != "--");
    let mut found = words.filter_map(|word| {
        let name = word.split([':', '=']).next().unwrap_or(word).to_ascii_lowercase();
        let (_, instead) = OPTIONS.iter().find(|(options, _)| options.contains(&name.as_str()))?;
        Some(format!("there is no option `{name}`; {instead}"))
    });
    found.next()
}

/// As [`option`], of the options that would pass for `-n` with a namespace.
pub(crate) fn option_like_a_namespace(words: &[String]) -> Option<String> {
    // Before an expression, which may begin with a minus.
    let takes_expr = |word: &str| ["-a", "--attributes", "-c", "--constraint", "--sort"].contains(&word);
    let mut before = "";
    for word in words {
        if word.starts_with("-n")
            && !takes_expr(before)
            && let Some(said) = option(std::slice::from_ref(word))
        {
            return Some(said);
        }
        before = word;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_htcondor_are_answered_with_what_to_write() {
        let own = |word: &str| ["history", "release", "userprio"].contains(&word);
        for (word, said) in [
            ("rm", "there is no verb `rm`; write cancel JOB"),
            ("condor_rm", "there is no verb `condor_rm`; write cancel JOB"),
            ("condor_history", "there is no verb `condor_history`; write history"),
            (
                "condor_release",
                "there is no verb `condor_release`; write resume JOB, which puts a suspended job back; release JOB ends the claim of a job",
            ),
            ("unhold", "there is no verb `unhold`; write resume JOB"),
        ] {
            assert_eq!(verb(word, own).as_deref(), Some(said));
        }
        assert_eq!((verb("history", own), verb("condor_colour", own), verb("", own)), (None, None, None));
    }

    #[test]
    fn options_of_htcondor_are_answered_with_what_to_write() {
        let of = |line: &str| option(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            of("query machines -af:h Name").as_deref(),
            Some("there is no option `-af`; write query KIND -a NAME,NAME")
        );
        assert_eq!(
            of("why -Better-Analyze sim").as_deref(),
            Some("there is no option `-better-analyze`; write why JOB, or why machine/NAME")
        );
        assert_eq!((of("query machines -a Name"), of("eval -- -long")), (None, None));
        let like =
            |line: &str| option_like_a_namespace(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_some();
        assert!(
            like("queue -nobatch") && !like("queue -neda") && !like("queue -long") && !like("query jobs --sort -name")
        );
    }

    #[test]
    fn no_word_is_answered_twice() {
        for table in [VERBS.as_slice(), OPTIONS.as_slice()] {
            let mut words: Vec<&str> = table.iter().flat_map(|(words, _)| words.iter().copied()).collect();
            let count = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), count);
        }
    }
}
