//! The commands of a submit file: those that are taken over, and what to write for the others.

use crate::schema::similar;

/// Commands that are taken over.
const TAKEN_OVER: [&str; 16] = [
    "executable",
    "arguments",
    "environment",
    "requirements",
    "rank",
    "universe",
    "request_cpus",
    "request_disk",
    "request_gpus",
    "request_memory",
    "machine_count",
    "priority",
    "concurrency_limits",
    "container_image",
    "docker_image",
    "accounting_group",
];

/// Commands that mean nothing in a cluster that brings its own files and logs: nothing is said of them.
const SILENT: [&str; 11] = [
    "log",
    "output",
    "error",
    "getenv",
    "notification",
    "should_transfer_files",
    "when_to_transfer_output",
    "batch_name",
    "stream_output",
    "stream_error",
    "transfer_executable",
];

/// Commands without a counterpart in a Job, and what to write in their place.
const INSTEAD: [(&[&str], &str); 17] = [
    (&["max_retries"], "write backoffLimit into spec.workload.jobTemplate.spec"),
    (
        &["periodic_remove", "allowed_job_duration", "allowed_execute_duration"],
        "write activeDeadlineSeconds into spec.workload.jobTemplate.spec; there are no expressions for it",
    ),
    (
        &["periodic_hold", "periodic_release", "periodic_vacate", "on_exit_hold"],
        "a job is not held by an expression; `kubectl gangmatch suspend` holds it",
    ),
    (
        &["on_exit_remove", "success_exit_code", "retry_until"],
        "exit status 0 is success; write backoffLimit, and podFailurePolicy for other codes, into spec.workload.jobTemplate.spec",
    ),
    (
        &["accounting_group_user"],
        "an Account stands for a namespace, or a user in it; write its submitter (docs/policy.md)",
    ),
    (&["nice_user"], "write a low spec.priority, or a small weight into the Account"),
    (&["hold"], "write spec.suspend: true"),
    (&["leave_in_queue"], "finished Jobs stay; write spec.ttlSecondsAfterFinished to remove them after a time"),
    (&["input"], "mount a volume with the file, and name it in arguments"),
    (
        &[
            "transfer_input_files",
            "transfer_output_files",
            "transfer_output_remaps",
            "output_destination",
            "public_input_files",
        ],
        "put files into the image, or mount a volume in spec.workload.jobTemplate",
    ),
    (
        &["initialdir", "initial_dir", "iwd", "remote_initialdir"],
        "write workingDir into the container of spec.workload.jobTemplate",
    ),
    (
        &["notify_user", "email_attributes"],
        "no mail is sent; `kubectl wait gmj/NAME --for=condition=Finished` waits for the end",
    ),
    (
        &[
            "require_gpus",
            "gpus_minimum_memory",
            "gpus_minimum_capability",
            "gpus_maximum_capability",
            "gpus_minimum_runtime",
        ],
        "write the condition into the constraint of the port",
    ),
    (&["concurrency_limits_expr"], "write a port for each License"),
    (&["job_lease_duration", "keep_claim_idle"], "each claim belongs to one Job, and ends with it"),
    (&["max_materialize", "max_idle"], "all Jobs are created at once; quotas of an Account limit how many run"),
    (
        &[
            "deferral_time",
            "deferral_window",
            "cron_minute",
            "cron_hour",
            "cron_day_of_month",
            "cron_month",
            "cron_day_of_week",
        ],
        "create the Job when it shall run, for example with a CronJob",
    ),
];

/// Other commands of HTCondor, for which there is nothing to write.
const OTHERS: [&str; 41] = [
    "allow_startup_script",
    "append_files",
    "batch_id",
    "buffer_block_size",
    "buffer_files",
    "buffer_size",
    "checkpoint_exit_code",
    "coresize",
    "copy_to_spool",
    "description",
    "erase_output_and_error_on_restart",
    "fetch_files",
    "file_remaps",
    "image_size",
    "jar_files",
    "job_ad_information_attrs",
    "job_machine_attrs",
    "job_machine_attrs_history_length",
    "job_max_vacate_time",
    "kill_sig",
    "kill_sig_timeout",
    "load_profile",
    "local_files",
    "log_xml",
    "manifest",
    "match_list_length",
    "max_job_retirement_time",
    "next_job_start_delay",
    "noop_job",
    "preserve_relative_paths",
    "rendezvousdir",
    "run_as_owner",
    "skip_filechecks",
    "stack_size",
    "submit_event_notes",
    "ulog_execute_attrs",
    "use_oauth_services",
    "want_graceful_removal",
    "want_job_networking",
    "x509userproxy",
    "use_x509userproxy",
];
/// How families of commands begin, most of them for other universes and for files.
const FAMILIES: [&str; 22] = [
    "allow_",
    "aws_",
    "azure_",
    "boinc_",
    "compress_",
    "container_",
    "cron_",
    "deferral_",
    "delegate_",
    "docker_",
    "dont_",
    "ec2_",
    "encrypt_",
    "gce_",
    "grid_",
    "java_",
    "max_transfer_",
    "noop_",
    "on_exit_",
    "s3_",
    "transfer_",
    "vm_",
];

/// Other names of commands, and what they stand for.
const ALIASES: [(&str, &str); 8] = [
    ("args", "arguments"),
    ("env", "environment"),
    ("preferences", "rank"),
    ("prio", "priority"),
    ("requestcpus", "request_cpus"),
    ("requestdisk", "request_disk"),
    ("requestgpus", "request_gpus"),
    ("requestmemory", "request_memory"),
];

/// The name by which a command is known here, in lower case: `my.project` for `+Project` as well.
pub(super) fn canonical(key: &str) -> String {
    let key = key.trim().to_ascii_lowercase();
    if let Some(name) = key.strip_prefix('+') {
        return format!("my.{}", name.trim());
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
    alias.map_or(key, |(_, command)| (*command).to_owned())
}

/// Whether a command ends up in the Job, so that all of its variables need values.
pub(super) fn is_taken_over(key: &str) -> bool {
    TAKEN_OVER.contains(&key) || attribute(key).is_some()
}

/// Whether a command is taken over, or means nothing here.
pub(super) fn is_known(key: &str) -> bool {
    is_taken_over(key) || SILENT.contains(&key)
}

/// The name of an attribute that a command sets: `+Project`, `My.Project`.
pub(super) fn attribute(key: &str) -> Option<&str> {
    key.strip_prefix("my.").map(str::trim)
}

/// What is said of a command that is not known.
pub(super) fn left_out(key: &str) -> String {
    if let Some((_, instead)) = INSTEAD.iter().find(|(keys, _)| keys.contains(&key)) {
        return format!("`{key}` is left out; {instead}");
    }
    if OTHERS.contains(&key) || FAMILIES.iter().any(|family| key.starts_with(family)) {
        return format!("`{key}` is left out; there is no counterpart");
    }
    let all = INSTEAD.iter().flat_map(|(keys, _)| keys.iter()).chain(&TAKEN_OVER).chain(&SILENT).chain(&OTHERS);
    if let Some(meant) = similar(key, all.copied()) {
        return format!("there is no command `{key}`, so it has no effect; did you mean {meant}?");
    }
    match key.strip_prefix("request_") {
        Some(resource) => format!(
            "`{key}` is left out; write `{resource}` into the request of the port and into the capacity of the Machines"
        ),
        None => format!("there is no command `{key}`, so it has no effect; write +{key} for an attribute of the job"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_list_only() {
        let mut all: Vec<&str> = INSTEAD.iter().flat_map(|(keys, _)| keys.iter().copied()).collect();
        all.extend(TAKEN_OVER.iter().chain(&SILENT).chain(&OTHERS));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn slips_are_told_from_commands_that_are_left_out() {
        for (key, said) in [
            (
                "request_memroy",
                "there is no command `request_memroy`, so it has no effect; did you mean request_memory?",
            ),
            ("requirments", "there is no command `requirments`, so it has no effect; did you mean requirements?"),
            ("max_retries", "`max_retries` is left out; write backoffLimit into spec.workload.jobTemplate.spec"),
            ("grid_resource", "`grid_resource` is left out; there is no counterpart"),
            (
                "request_licences",
                "`request_licences` is left out; write `licences` into the request of the port and into the capacity of the Machines",
            ),
            ("colour", "there is no command `colour`, so it has no effect; write +colour for an attribute of the job"),
        ] {
            assert_eq!(left_out(key), said);
        }
    }
}
