//! Submit files and dumps, as the plugin writes them down.

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    fn run(arguments: &[&str], input: &str) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.arg("import").args(arguments).current_dir(root);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    #[test]
    fn the_example_is_what_is_printed_and_what_is_left_out_is_said() {
        let from = ["examples/condor/from/machines.ad", "examples/condor/from/sim.sub"];
        let output = run(&from, "");
        let expected =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/condor/imported.yaml"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected.unwrap());
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "note: examples/condor/from/machines.ad: slot1@foo.cs.wisc.edu: the attribute Name is the name of the host, as Machine is: \
             conditions that compare Name with SLOT@HOST are false\n\
             note: examples/condor/from/machines.ad: slot1@foo.cs.wisc.edu: left to an agent, because the values change all the time: \
             LoadAvg; they are declared in dynamicAttributes, and UNDEFINED until the agent of the Machine publishes them\n\
             note: examples/condor/from/machines.ad: slot1_1@foo.cs.wisc.edu: left out: a dynamic slot is part of a partitionable one\n\
             note: examples/condor/from/sim.sub:15: `transfer_input_files` is left out; put files into the image, or mount a volume in spec.workload.jobTemplate\n"
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_line() {
        for (input, error) in [
            (
                "executable = a\nqueue x from list.txt\n",
                "standard input:2: found `queue x from list.txt`; files are not read; write the list in parentheses",
            ),
            ("nonsense\nqueue\n", "standard input:1: found `nonsense`; write `command = value`, or `queue`"),
            ("requirements = (\nqueue\n", "standard input:1: "),
            ("", "standard input: the file has no ad and no line `queue`"),
            (
                "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\n",
                "standard input: found a manifest, not an ad; `lint` checks manifests",
            ),
            ("executable = a\nrequest_memory = 4 gigs\nqueue\n", "standard input:2: "),
        ] {
            let output = run(&["-"], input);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(error), "{input:?}: {said}");
            assert!(!output.status.success() && output.stdout.is_empty());
        }
    }

    #[test]
    fn m17_lists_of_jobs_are_expanded_and_gpus_are_requested() {
        let input = "executable = a\nseed = $(x)0\narguments = --seed $(seed) --step $(Step)\nrequest_gpus = 2\n+Deck = \"$(x).v\"\n\
                     container_image = i\nqueue 2 x in (7, 8)\n";
        let output = run(&["-"], input);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && notes.is_empty(), "{notes}");
        assert_eq!(text.matches("kind: Job").count(), 4, "{text}");
        assert_eq!(text.matches("gpus: \"2\"").count(), 4, "{text}");
        assert!(text.contains("\"70\"") && text.contains("\"80\"") && text.contains("deck: 8.v"), "{text}");
    }

    #[test]
    fn m17_what_changes_all_the_time_is_left_to_an_agent() {
        let ad = "MyType = \"Machine\"\nName = \"d\"\nCpus = 4\nTotalSlotGPUs = 2\nLoadAvg = 0.25\nKeyboardIdle = 2000\n\
                  START = KeyboardIdle > 900 && LoadAvg < 0.3\nRequirements = START\n";
        let output = run(&["-"], ad);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(
            text.contains("dynamicAttributes:") && text.contains("name: LoadAvg") && !text.contains("0.25"),
            "{text}"
        );
        assert!(text.contains("constraint: START") && text.contains("gpus: 2"), "{text}");
        assert!(notes.contains("the values change all the time: LoadAvg, KeyboardIdle; they are declared"), "{notes}");
    }

    #[test]
    fn m17_a_file_that_is_refused_keeps_no_other_from_being_converted() {
        let output = run(&["-", "examples/condor/from/machines.ad"], "executable = a\nqueue x matching *.dat\n");
        let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(!output.status.success() && said.contains("error: standard input:2: "), "{said}");
        assert!(text.contains("kind: Machine"), "{text}");
    }

    #[test]
    fn a_count_of_machines_becomes_a_counted_port_and_licences_are_counted_for_each() {
        let input = "universe = parallel\nexecutable = mpi\nmachine_count = 8\nconcurrency_limits = flow:2\n\
                     +WantParallelSchedulingGroups = True\ncontainer_image = i\nqueue\n";
        let output = run(&["-"], input);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && notes.is_empty(), "{notes}");
        assert!(text.contains("count: \"8\"") && text.contains("- ParallelSchedulingGroup"), "{text}");
        assert!(text.contains("seats: 2 * size(machine)"), "{text}");
    }

    #[test]
    fn ads_of_jobs_become_no_machines() {
        let input = "MyType = \"Job\"\nCmd = \"a\"\n\nMyType = \"Job\"\nCmd = \"b\"\n\nMyType = \"Slot\"\nName = \"m\"\nCpus = 4\nRequirements = true\n";
        let output = run(&["-"], input);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(
            notes,
            "note: standard input: ad 1 and 1 more: left out: MyType is \"Job\", and only ads of machines become manifests: import the \
             submit file of the job\n"
        );
        assert!(text.matches("kind: Machine").count() == 1 && text.contains("name: m"), "{text}");
    }

    #[test]
    fn a_manifest_in_json_is_told_as_a_manifest() {
        let output = run(&["-"], "{\"apiVersion\": \"gangmatch.dev/v1alpha1\", \"kind\": \"Job\"}\n");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: standard input: found a manifest, not an ad"), "{said}");
    }

    #[test]
    fn arguments_and_environments_are_divided_as_condor_divides_them() {
        let input = "executable = a\ncontainer_image = i\narguments = \"--title 'two words' \"\"x\"\"\"\n\
                     environment = \"A='b c' D=1\"\nqueue\n";
        let output = run(&["-"], input);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("- two words\n") && text.contains("value: b c\n") && text.contains("name: D\n"),
            "{text}"
        );
    }

    #[test]
    fn a_file_that_queues_too_many_jobs_is_refused_at_once() {
        for (input, line) in [("queue 4000000000\n", 1), ("queue 60000\nqueue 60000\n", 2)] {
            let output = run(&["-"], input);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.starts_with(&format!("error: standard input:{line}: ")), "{said}");
            assert!(said.contains("more than 100000 jobs") && output.stdout.is_empty(), "{said}");
        }
    }

    #[test]
    fn without_an_image_there_is_no_workload() {
        let input = "executable = run.sh\nrequest_memory = 2G\nqueue\n";
        let said = |arguments: &[&str]| {
            let output = run(arguments, input);
            assert!(output.status.success());
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let (plain, note) = said(&["-"]);
        assert!(!plain.contains("workload") && plain.contains("memory: \"2048\""), "{plain}");
        assert!(note.contains("no workload: use --image"), "{note}");
        let (with, note) = said(&["--image", "example.org/a:1", "-"]);
        assert!(with.contains("image: example.org/a:1") && note.is_empty(), "{with}{note}");
    }

    /// The Jobs and Machines of a submit file and a dump, matched, and what is said of the two.
    fn matched(name: &str, machines: &str, submit: &str) -> (String, String) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("import").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let (ads, jobs, all) = (folder.join("machines.ad"), folder.join("sweep.sub"), folder.join("all.yaml"));
        std::fs::write(&ads, machines).unwrap();
        std::fs::write(&jobs, submit).unwrap();
        let imported = run(&[ads.to_str().unwrap(), jobs.to_str().unwrap()], "");
        let notes = String::from_utf8(imported.stderr).unwrap().replace(&format!("{}/", folder.display()), "");
        assert!(imported.status.success(), "{notes}");
        std::fs::write(&all, imported.stdout).unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).args(["match", "-f"]).arg(&all).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8(output.stderr).unwrap());
        (String::from_utf8(output.stdout).unwrap(), notes)
    }

    const STATIC: &str = "MyType = \"Machine\"\nName = \"slot1@n1.x.edu\"\nMachine = \"n1.x.edu\"\nSlotType = \"Static\"\n\
                          Arch = \"X86_64\"\nOpSys = \"LINUX\"\nCpus = 1\nMemory = 2000\nDisk = 20000000\n";

    #[test]
    fn a_job_is_let_onto_machines_whose_policy_reads_its_requests_and_its_universe() {
        let policy = "START = true\nRequirements = START && (WithinResourceLimits) && (IsValidCheckpointPlatform)\n\
            WithinResourceLimits = (ifThenElse(TARGET._condor_RequestCpus =!= undefined,MY.Cpus > 0 && TARGET._condor_RequestCpus <= \
            MY.Cpus,ifThenElse(TARGET.RequestCpus =!= undefined,MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus,1 <= MY.Cpus)) && \
            ifThenElse(TARGET.RequestMemory =!= undefined,MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory,false) && \
            ifThenElse(TARGET.RequestDisk =!= undefined,MY.Disk > 0 && TARGET.RequestDisk <= MY.Disk,false))\n\
            IsValidCheckpointPlatform = (((TARGET.JobUniverse == 1) == false) || ((MY.CheckpointPlatform =!= undefined) && \
            (TARGET.LastCheckpointPlatform =?= MY.CheckpointPlatform)))\n";
        let machine = format!("{STATIC}{policy}");
        let submit = "executable = /bin/sleep\narguments = 60\nrequest_memory = 512\nqueue\n";
        let (text, _) = matched("universe", &machine, submit);
        assert!(text.contains("1 of 1 job matched"), "{text}");
        let (text, _) = matched("memory", &machine, &submit.replace("512", "3 GB"));
        assert!(text.contains("0 of 1 job matched"), "{text}");
    }

    #[test]
    fn a_partitionable_slot_is_asked_for_all_that_it_has_and_not_for_what_was_left() {
        let machine = "MyType = \"Machine\"\nName = \"slot1@n1\"\nMachine = \"n1\"\nSlotType = \"Partitionable\"\nCpus = 0\nMemory = 0\n\
            Disk = 0\nTotalSlotCpus = 8\nTotalSlotMemory = 16000\nTotalSlotDisk = 5000000\nRequirements = TARGET.RequestCpus <= MY.Cpus\n";
        let (text, _) =
            matched("partitionable", machine, "executable = a\nrequest_cpus = 2\nrequest_disk = 1G\nqueue\n");
        assert!(text.contains("1 of 1 job matched"), "{text}");
        let (text, _) = matched("disk", machine, "executable = a\nrequest_disk = 10GB\nqueue\n");
        assert!(text.contains("`machine.Disk >= RequestDisk`"), "{text}");
    }

    #[test]
    fn jobs_choose_machines_by_the_name_of_the_host() {
        let machine = format!("{STATIC}Requirements = true\n");
        let (text, notes) =
            matched("machine", &machine, "executable = a\nrequirements = Machine != \"old02.x.edu\"\nqueue\n");
        assert!(text.contains("1 of 1 job matched") && !notes.contains("sweep.sub:2"), "{text}{notes}");
        let (text, notes) =
            matched("name", &machine, "executable = a\nrequirements = Name == \"slot1@n1.x.edu\"\nqueue\n");
        assert!(text.contains("0 of 1 job matched"), "{text}");
        assert!(notes.contains("machines.ad: slot1@n1.x.edu: the attribute Name is the name of the host"), "{notes}");
        assert!(
            notes.contains("sweep.sub:2: `requirements` compares `Name` with the name of a slot; Name of an"),
            "{notes}"
        );
    }

    #[test]
    fn names_that_every_job_defines_are_the_jobs_own() {
        let input = "executable = /bin/x\nrequest_memory = 1000\nrequirements = TARGET.Memory >= RequestMemory && Cpus >= \
                     MY.RequestCpus && Owner == \"x\" && ImageSize < 5\nqueue\n";
        let output = run(&["-"], input);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(
                "(machine.Memory >= RequestMemory && machine.Cpus >= RequestCpus && Owner == \"x\" && ImageSize < 5)"
            ),
            "{text}"
        );
        assert!(text.contains("JobUniverse: 5 RequestCpus: 1 RequestMemory: 1000 RequestDisk: 1024"), "{text}");
        let note = "note: standard input:3: `requirements` reads `ImageSize` of the job, which is UNDEFINED here; write a line +ImageSize = VALUE";
        assert!(notes.contains(note) && !notes.contains("`Owner`"), "{notes}");
    }

    #[test]
    fn the_state_of_a_slot_is_that_of_a_free_one_where_its_policy_reads_it() {
        let machine = format!(
            "{STATIC}State = \"Owner\"\nActivity = \"Busy\"\nEnteredCurrentState = 5\nSTART = State == \"Unclaimed\"\nRequirements = START\n"
        );
        let (text, notes) = matched("state", &machine, "executable = a\nqueue\n");
        assert!(text.contains("1 of 1 job matched"), "{text}");
        assert!(notes.contains("`START` reads `State`, which is kept as \"Unclaimed\""), "{notes}");
        let machine = machine.replace("START = State", "START = EnteredCurrentState < 9 && State");
        let (text, notes) = matched("entered", &machine, "executable = a\nrank = SlotID\nqueue\n");
        assert!(text.contains("0 of 1 job matched"), "{text}");
        assert!(notes.contains("`START` reads `EnteredCurrentState`, which is left out and so UNDEFINED"), "{notes}");
        assert!(
            notes.contains("sweep.sub:2: `rank` reads `SlotID` of the machine, which `import` leaves out"),
            "{notes}"
        );
    }

    #[test]
    fn policies_that_end_claims_are_left_out_with_one_note_for_all_machines() {
        let machine = "Name = \"a\"\nCpus = 1\nSUSPEND = KeyboardIdle < 60\nPREEMPT = false\nRequirements = true\n";
        let output = run(
            &["-"],
            &format!("{machine}\n{}\n{}", machine.replace("\"a\"", "\"b\""), machine.replace("\"a\"", "\"c\"")),
        );
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(
            notes,
            "note: standard input: a and 2 more: left out: SUSPEND, PREEMPT: policies are evaluated when a claim is made, and stopPolicy ends claims\n"
        );
        assert!(!text.contains("PREEMPT") && !text.contains("SUSPEND"), "{text}");
    }

    #[test]
    fn a_variable_without_a_value_is_an_error_with_its_line() {
        let of = |input: &str| {
            let output = run(&["-"], input);
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr), output.status.success())
        };
        let (text, said, fine) = of("executable = a\nrequest_memory = $(mem)\nqueue\n");
        assert!(!fine && text.is_empty());
        assert_eq!(said, "error: standard input:2: `$(mem)` has no value; write a line `mem = VALUE` before `queue`\n");
        let (text, said, fine) = of(
            "executable = a\nlog = $(nosuch).log\nrequest_memory = $(mem:64)\narguments = $(Cluster).$(Process) $$(OpSys)\nqueue\n",
        );
        assert!(
            fine && text.contains("Args: standard-input.0 $$(OpSys)") && text.contains("memory: \"64\""),
            "{text}{said}"
        );
        assert!(
            said.contains(":4: `$(Cluster)` becomes `standard-input`, since Jobs have no cluster number"),
            "{said}"
        );
        assert!(said.contains(":4: `$$(OpSys)` stays as it is"), "{said}");
    }

    #[test]
    fn commands_without_a_counterpart_say_what_to_write_and_slips_what_was_meant_by_line() {
        let input = "executable = a\nrequest_memroy = 2048\nrequirments = true\nperiodic_remove = true\nmax_retries = 3\n\
                     accounting_group = physics\nuniverse = grid\nqueue 2\n";
        let output = run(&["-"], input);
        let said = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("note: standard input")).collect();
        assert_eq!(
            lines,
            [
                ":2: there is no command `request_memroy`, so it has no effect; did you mean request_memory?",
                ":3: there is no command `requirments`, so it has no effect; did you mean requirements?",
                ":4: `periodic_remove` is left out; write activeDeadlineSeconds into spec.workload.jobTemplate.spec; there are no expressions for it",
                ":5: `max_retries` is left out; write backoffLimit into spec.workload.jobTemplate.spec",
                ":6: `accounting_group` becomes the attribute AcctGroup; for shares and quotas, write an Account for the namespace (docs/policy.md)",
                ":7: the universe `grid` has no counterpart; the Job asks for a machine, as in `vanilla`",
                ": no image or no executable, so no workload: use --image, or write container_image",
            ]
        );
    }

    #[test]
    fn numbers_that_a_job_cannot_have_are_told_by_line() {
        let of = |commands: &str| {
            let output = run(&["--image", "i", "-"], &format!("executable = a\n{commands}\nqueue\n"));
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr))
        };
        for (commands, said) in [
            (
                "priority = 5000",
                "note: standard input:2: `priority = 5000` becomes 1000, the largest priority of a Job\n",
            ),
            (
                "priority = 1.5",
                "note: standard input:2: `priority = 1.5` is left out; write a whole number from -1000 to 1000\n",
            ),
            ("priority = 5", ""),
            (
                "request_cpus = 1.5",
                "note: standard input:2: `request_cpus = 1.5` is no amount that a machine has; write a whole number of at least 1\n",
            ),
            ("request_gpus = 0", ""),
            (
                "concurrency_limits = fluent:0",
                "error: standard input:2: found `fluent:0`; write a whole number of at least 1, such as fluent:2\n",
            ),
            (
                "machine_count = 0",
                "error: standard input:2: found `machine_count = 0`; write a whole number from 1 to 63\n",
            ),
            (
                "concurrency_limits = a,b,c,d,e,f,g,h",
                "error: standard input:2: found 8 limits; write at most 7: a Job has at most 8 ports, one of them for the machine\n",
            ),
        ] {
            assert_eq!(of(commands).1, said, "{commands}");
        }
        let (text, said) = of("concurrency_limits = vcs, VCS, a-b, a_b, machine, other, fluent : 3");
        let labels: Vec<&str> =
            text.lines().filter_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix("label: ")).collect();
        assert_eq!(labels, ["machine", "vcs", "VCS_2", "a_b", "a_b_2", "machine_2", "other_2", "fluent"], "{said}");
        assert!(text.contains("fluent.App == \"fluent\"") && said.is_empty(), "{text}{said}");
    }

    #[test]
    fn without_an_image_jobs_keep_their_arguments() {
        let input = "executable = run.sh\narguments = $(file) $(n)\nqueue file, n from (\na.dat, 1\nb.dat, 2\n)\n";
        let output = run(&["-"], input);
        let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(text.contains("Args: a.dat 1") && text.contains("Args: b.dat 2"), "{text}");
        assert!(notes.contains("write container_image; the arguments are in the attribute Args"), "{notes}");
    }

    /// What is written of an input, and what is said of it.
    fn imported(input: &str) -> (String, String) {
        let output = run(&["-"], input);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout).split_whitespace().collect::<Vec<_>>().join(" "), text(output.stderr))
    }

    const TWO_GPUS: &str = "AvailableGPUs = { G1, G2 }\nG1 = [ Capability = 8.0; GlobalMemoryMb = 40000 ]\n\
                            G2 = [ Capability = 6.0; GlobalMemoryMb = 500 ]\n";

    #[test]
    fn conditions_on_each_gpu_read_the_attributes_of_that_gpu() {
        let machine =
            format!("{STATIC}{TWO_GPUS}Requirements = countMatches(Capability >= TARGET.Least, AvailableGPUs) >= 1\n");
        for (name, added, requirements, count) in [
            ("bare", "", "countMatches(GlobalMemoryMb >= 1000, AvailableGPUs) == 1", 1),
            ("too-many", "", "countMatches(GlobalMemoryMb >= 1000, AvailableGPUs) == 2", 0),
            ("own", "+Mem = 1000\n", "countMatches(GlobalMemoryMb >= Mem, TARGET.AvailableGPUs) == 1", 1),
            ("target", "+Mem = 1000\n", "countMatches(GlobalMemoryMb >= TARGET.Mem, AvailableGPUs) == 1", 1),
            ("named", "+RequireGPUs = Capability > 7\n", "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= 1", 1),
        ] {
            let submit = format!("executable = a\n+Least = 7\n{added}requirements = {requirements}\nqueue\n");
            let (text, notes) = matched(&format!("gpus-{name}"), &machine, &submit);
            assert!(text.contains(&format!("{count} of 1 job matched")), "{name}: {text}{notes}");
            assert!(!notes.contains("UNDEFINED"), "{name}: {notes}");
        }
    }

    #[test]
    fn attributes_that_read_the_machine_are_written_in_their_place() {
        let machine = format!("{STATIC}Requirements = true\n");
        for (name, added, requirements, count) in [
            ("bare", "+WantBig = Memory > 500\n", "WantBig", 1),
            ("small", "+WantBig = Memory > 5000\n", "MY.WantBig && true", 0),
            ("target", "MY.W = TARGET.Memory > 5\n", "W", 1),
            ("deep", "+W = Big && Arch == \"X86_64\"\n+Big = Memory > Least\n+Least = 5\n", "W", 1),
            ("circle", "+W = Memory > 5 && V\n+V = W\n", "W", 0),
        ] {
            let submit = format!(
                "executable = a\n{added}requirements = {requirements}\nrank = MY.Speed\n+Speed = Cpus\nqueue\n"
            );
            let (text, notes) = matched(&format!("inlined-{name}"), &machine, &submit);
            assert!(text.contains(&format!("{count} of 1 job matched")), "{name}: {text}{notes}");
            assert!(!notes.contains("UNDEFINED"), "{name}: {notes}");
        }
        let (text, notes) = imported("executable = a\n+W = Memory > 5\nrank = W\n+V = OpSys\nqueue\n");
        assert!(text.contains("rank: \"(machine.Memory > 5) ? 1 : 0\""), "{text}");
        let note = "note: standard input:4: `v` reads `OpSys`, which the job does not have; of the machine it is seen only in \
                    `requirements` and `rank`, and UNDEFINED elsewhere\n";
        assert!(notes.contains(note) && !notes.contains("`w`"), "{notes}");
    }

    #[test]
    fn a_command_is_a_variable_under_each_of_its_names() {
        let (text, notes) = imported("executable = a\nargs = x\narguments = $(args) -v\nqueue\n");
        assert!(text.contains("Args: x -v"), "{text}{notes}");
        let (text, _) = imported("executable = a\nMY.Foo = 1\n+Foo = 2\nMY.Bar = $(MY.Foo) + 1\nqueue\n");
        assert!(text.contains("foo: 2") && text.contains("bar: 2 + 1"), "{text}");
    }

    #[test]
    fn blanks_between_quotes_stay() {
        let machine = format!("{STATIC}Requirements = true\nTitle = \"a  b\"\n");
        let (text, notes) =
            matched("blanks", &machine, "executable = a\nrequirements =  Title   ==  \"a  b\"\nqueue\n");
        assert!(text.contains("1 of 1 job matched"), "{text}{notes}");
    }

    #[test]
    fn the_lines_whose_conditions_are_true_count() {
        let submit = "executable = a\nBIG = yes\nif $(big)\n  request_memory = 4000\nelif defined BIG\n  request_memory = 3000\nelse\n  \
                      queue 5\nendif\nif ! defined NOWHERE\n  priority = 3\nendif\nqueue\n";
        let (text, _) = imported(submit);
        assert!(text.contains("memory: \"4000\"") && text.contains("priority: 3"), "{text}");
        assert_eq!(text.matches("kind: Job").count(), 1, "{text}");
        for (wrong, said) in [
            ("if $(n) > 3\nqueue\nendif\n", "standard input:1: found `$(n) > 3` as a condition; write `defined NAME`"),
            (
                "if true\nqueue\n",
                "standard input:1: `if` without an `endif`; write `endif` after the lines that depend on it",
            ),
            ("queue\nendif\n", "standard input:2: `endif` without an `if` before it; remove it"),
        ] {
            let said_of_it = String::from_utf8(run(&["-"], wrong).stderr).unwrap();
            assert!(said_of_it.contains(said), "{said_of_it}");
        }
    }

    #[test]
    fn a_machine_that_accepts_no_job_is_held_and_a_job_that_accepts_no_machine_is_told() {
        for condition in [
            "Requirements = false",
            "Requirements = 1 > 2",
            "START = FALSE",
            "START = false\nRequirements = START && IsOpen\nIsOpen = true",
        ] {
            let machine = format!("{STATIC}{condition}\n");
            let (text, notes) = imported(&machine);
            assert!(text.contains("stopPolicy: Hold") && !text.contains("constraint"), "{condition}: {text}");
            assert!(notes.contains("accepts no job: stopPolicy is Hold"), "{condition}: {notes}");
            let (text, notes) = matched("held", &machine, "executable = a\nqueue\n");
            assert!(
                text.contains("0 of 1 job matched") && text.contains("draining, stopPolicy is Hold"),
                "{text}{notes}"
            );
        }
        // What is so at the moment only is no reason.
        let (text, _) =
            imported(&format!("{STATIC}KeyboardIdle = 0\nSTART = KeyboardIdle > 900\nRequirements = START\n"));
        assert!(!text.contains("stopPolicy"), "{text}");
        let (text, _) = imported(&STATIC.replace("Cpus = 1", "Cpus = 0.5"));
        assert!(text.contains("cpus: 1 "), "{text}");
        let (_, notes) = imported("executable = a\nrequirements = Cpus > 2 && Cpus < 1\nqueue\n");
        assert!(notes.contains(":2: `requirements` can never be true"), "{notes}");
    }

    #[test]
    fn a_machine_without_requirements_has_start_as_its_condition() {
        let machine = format!("{STATIC}Start = TARGET.Department == \"physics\"\n");
        for (department, count) in [("physics", 1), ("art", 0)] {
            let submit = format!("executable = a\n+Department = \"{department}\"\nqueue\n");
            let (text, _) = matched(&format!("start-{department}"), &machine, &submit);
            assert!(text.contains(&format!("{count} of 1 job matched")), "{text}");
        }
        let (text, notes) = imported(&format!("{STATIC}Activity = \"Busy\"\nSTART = Activity == \"Idle\"\n"));
        assert!(text.contains("constraint: START") && text.contains("Activity: Idle"), "{text}{notes}");
        let (text, notes) = imported(STATIC);
        assert!(!text.contains("constraint"), "{text}");
        let note = "slot1@n1.x.edu: there are no Requirements and no START, so the offer accepts every job; write a condition into \
                    spec.constraint\n";
        assert!(notes.contains(note), "{notes}");
    }

    #[test]
    fn a_configuration_is_no_ad_of_a_machine() {
        let (text, said) = imported("START = (KeyboardIdle > 300)\nRANK = Owner == \"ann\"\n");
        assert!(text.is_empty(), "{text}");
        assert_eq!(
            said,
            "error: standard input: ad 1 has none of MyType, Name and Machine, so it is no ad of a machine; write ads as \
             `condor_status -long` prints them (a configuration is not read)\n"
        );
    }

    #[test]
    fn amounts_of_the_whole_slot_may_be_reals() {
        let slot = "MyType = \"Machine\"\nName = \"n1\"\nSlotType = \"Partitionable\"\nCpus = 1\nMemory = 5\nDisk = 5\nGPUs = 1\n\
                    TotalSlotCpus = 8.0\nTotalSlotMemory = 16000.5\nTotalSlotDisk = 600000000.0\nTotalSlotGPUs = 2\n\
                    AvailableGPUs = { G1 }\nRequirements = true\n";
        let (text, notes) = imported(slot);
        assert!(text.contains("capacity: cpus: 8 memory: 16000 gpus: 2"), "{text}");
        assert!(text.contains("Cpus: \"8.0\" Memory: \"16000.5\" Disk: \"600000000.0\""), "{text}");
        assert!(
            notes.contains("n1: `AvailableGPUs` lists only the GPUs that were left, but `GPUs` counts all"),
            "{notes}"
        );
        let (_, notes) = imported(&slot.replace("\nGPUs = 1", "\nGPUs = 2"));
        assert!(notes.is_empty(), "{notes}");
    }

    #[test]
    fn numbers_as_requirements_of_a_machine_are_true_or_false() {
        for (number, truth) in [("1", true), ("-2", true), ("0.5", true), ("0", false), ("0.0", false)] {
            let (text, _) = imported(&format!("{STATIC}Requirements = {number}\n"));
            let expected = if truth { "constraint: \"true\"" } else { "stopPolicy: Hold" };
            assert!(text.contains(expected), "{number}: {text}");
        }
        let (text, _) = matched("number", &format!("{STATIC}Requirements = 1\n"), "executable = a\nqueue\n");
        assert!(text.contains("1 of 1 job matched"), "{text}");
    }

    #[test]
    fn commands_without_a_value_count_as_not_written() {
        let (text, notes) = imported(
            "executable = a\ncontainer_image = i\nrequirements =\nrank =\nrequest_memory = $(empty)\nempty =\nmax_retries =\nqueue\n",
        );
        assert!(notes.is_empty(), "{notes}");
        assert!(text.contains("constraint: machine.Type == \"Machine\" request:"), "{text}");
        assert!(text.contains("memory: \"128\"") && !text.contains("rank"), "{text}");
    }

    #[test]
    fn a_variable_that_refers_to_itself_is_added_to() {
        let (text, notes) = imported("A = 1\nA = $(A)2\nexecutable = a$(A)\ncontainer_image = i\nqueue\n");
        assert!(text.contains("Cmd: a12") && notes.is_empty(), "{text}{notes}");
    }

    #[test]
    fn queue_statements_use_variables() {
        let head = "executable = a\ncontainer_image = i\narguments = $(Item)\n";
        for (queue, jobs, last) in [
            ("N = 2\nqueue $(N) Item from (\n a(\n b.$(Process)\n)\n", 4, "b.3"),
            ("L = x y\nqueue Item in ($(L), z.$(Process))\n", 3, "z.2"),
            ("N = 2\nV = v\nqueue $(N) Item in (\n x\n $(V))\n", 4, "v"),
        ] {
            let (text, said) = imported(&format!("{head}{queue}"));
            assert_eq!((text.matches("kind: Job").count(), said.as_str()), (jobs, ""), "{queue}");
            assert!(text.contains(&format!("args: - {last}")), "{queue}: {text}");
        }
        let (text, said) = imported("executable = a\nN = 2\nqueue $(N)\n");
        assert!(text.matches("kind: Job").count() == 2 && !said.contains("`n`"), "{said}");
        let (_, said) = imported("executable = a\nqueue $(N)\n");
        assert_eq!(said, "error: standard input:2: `$(N)` has no value; write a line `N = VALUE` before `queue`\n");
    }

    #[test]
    fn arguments_in_double_quotes_are_stored_in_arguments() {
        let (text, notes) = imported("executable = a\narguments = \"--q \"\"x\"\" 'a b'\"\nqueue\n");
        assert!(text.contains("Arguments: --q \"x\" 'a b'") && !text.contains("Args"), "{text}");
        assert!(notes.contains("the arguments are in the attribute Arguments"), "{notes}");
    }

    #[test]
    fn a_rank_that_is_true_or_false_counts_as_in_htcondor() {
        let machine = |name: &str| {
            format!(
                "MyType = \"Machine\"\nName = \"{name}\"\nMachine = \"{name}\"\nCpus = 1\nMemory = 2000\nDisk = 20000\n\
                     Requirements = 1\nRank = Owner == \"ann\"\n"
            )
        };
        let machines = format!("{}\n{}", machine("ma"), machine("mb"));
        for (name, rank) in [
            ("truth", "Machine == \"mb\""),
            ("product", "10 * (Machine == \"mb\")"),
            ("function", "regexp(\"b\", Machine)"),
        ] {
            let (text, _) =
                matched(&format!("rank-{name}"), &machines, &format!("executable = a\nrank = {rank}\nqueue\n"));
            assert!(text.contains("machine=default/mb"), "{name}: {text}");
        }
        let (text, _) = imported(&machines);
        assert_eq!(text.matches("rank: \"(other.Owner == \\\"ann\\\") ? 1 : 0\"").count(), 2, "{text}");
        let (text, _) = imported("executable = a\nrank = 10 * (Machine == \"mb\") + KFlops\nqueue\n");
        assert!(text.contains("rank: 10 * (machine.Machine == \"mb\") + machine.KFlops"), "{text}");
    }
}
