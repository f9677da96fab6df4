//! The names that every job of HTCondor defines, so that they are the job's own wherever its expressions name them.

/// Attributes that HTCondor gives to every job, but for those that begin as in `BEGINNINGS`.
const NAMES: [&str; 43] = [
    "AccountingGroup",
    "AcctGroup",
    "AcctGroupUser",
    "Args",
    "Arguments",
    "ClusterId",
    "Cmd",
    "CompletionDate",
    "ConcurrencyLimits",
    "CondorPlatform",
    "DiskUsage",
    "EnteredCurrentStatus",
    "Env",
    "Environment",
    "Err",
    "ExecutableSize",
    "ExitCode",
    "ExitStatus",
    "GlobalJobId",
    "ImageSize",
    "In",
    "Iwd",
    "JobLeaseDuration",
    "JobPrio",
    "JobStartDate",
    "JobStatus",
    "JobUniverse",
    "LastCheckpointPlatform",
    "LastMatchTime",
    "MaxHosts",
    "MemoryUsage",
    "MinHosts",
    "NiceUser",
    "NumJobStarts",
    "NumRestarts",
    "NumShadowStarts",
    "Out",
    "Owner",
    "ProcId",
    "QDate",
    "ResidentSetSize",
    "SubmitterId",
    "User",
];
/// How attributes begin that only jobs have.
const BEGINNINGS: [&str; 4] = ["LastRemote", "MachineAttr", "Request", "WantRemote"];

/// What the system sets in every ad, under the same names as in HTCondor or not.
const SYSTEM: [&str; 7] = ["Labels", "Members", "MyType", "Namespace", "Owner", "Type", "Uid"];

/// Whether every job of HTCondor defines this name.
pub(super) fn is_of_every_job(name: &str) -> bool {
    let begins = |start: &str| name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    NAMES.iter().any(|own| own.eq_ignore_ascii_case(name)) || BEGINNINGS.into_iter().any(begins)
}

/// Whether the system gives a value to this name.
pub(super) fn is_of_system(name: &str) -> bool {
    SYSTEM.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// The universes of HTCondor whose jobs are Jobs without loss, and the number by which machines know them.
const UNIVERSES: [(&str, i64); 4] =
    [("vanilla", VANILLA), ("container", VANILLA), ("docker", VANILLA), ("parallel", 11)];
/// The number of the universe of an ordinary job.
pub(super) const VANILLA: i64 = 5;

/// The number of a universe, if its jobs are Jobs without loss.
pub(super) fn universe(name: &str) -> Option<i64> {
    let called = |(word, number): &&(&str, i64)| word.eq_ignore_ascii_case(name) || name == number.to_string();
    UNIVERSES.iter().find(called).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_told_from_names_of_machines() {
        assert!(["Owner", "requestmemory", "RequestDisk", "JobPrio", "imagesize"].into_iter().all(is_of_every_job));
        assert!(!["Memory", "OpSys", "HasDocker", "Machine", "State", "Name"].into_iter().any(is_of_every_job));
        assert_eq!((universe("Vanilla"), universe("11"), universe("grid")), (Some(5), Some(11), None));
    }
}
