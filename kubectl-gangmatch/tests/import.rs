//! Submit files and dumps, as the plugin writes them down.

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;
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
            "note: examples/condor/from/machines.ad: slot1@foo.cs.wisc.edu: left to an agent, because the values change all the time: \
             LoadAvg; they are declared in dynamicAttributes, and UNDEFINED until the agent of the Machine publishes them\n\
             note: examples/condor/from/machines.ad: slot1_1@foo.cs.wisc.edu: left out: a dynamic slot is part of a partitionable one\n\
             note: examples/condor/from/sim.sub:15: `transfer_input_files` is left out\n"
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
}
