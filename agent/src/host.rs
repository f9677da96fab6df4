//! What the kernel tells of a host, in its own texts, into attributes.

use std::collections::BTreeMap;

use crate::value::Raw;

/// The texts that are read, as they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    /// `/proc/loadavg`
    pub(crate) loadavg: String,
    /// `/proc/meminfo`
    pub(crate) meminfo: String,
    /// `/proc/stat`
    pub(crate) stat: String,
    /// `/proc/interrupts`
    pub(crate) interrupts: String,
    /// When a terminal was last read from, in seconds since 1970; none if there is no terminal.
    pub(crate) terminal: Option<i64>,
}

/// What is remembered from one look to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    keys: Option<u64>,
    input: Option<i64>,
}

/// The attributes that a host can have: `LoadAvg`, `LoadAvg5`, `LoadAvg15`, `TotalMemory` and `FreeMemory` in MiB, `BootTime`,
/// and `LastInput`, the instant of the last key or mouse. What cannot be read is left out. `now` is in seconds since 1970.
pub(crate) fn attributes(texts: &Texts, memory: &mut Memory, now: i64) -> BTreeMap<String, Raw> {
    let mut all = BTreeMap::new();
    for (name, load) in ["LoadAvg", "LoadAvg5", "LoadAvg15"].into_iter().zip(texts.loadavg.split_whitespace()) {
        if let Ok(load) = load.parse() {
            all.insert(name.to_owned(), Raw::Number(load));
        }
    }
    for (name, field) in [("TotalMemory", "MemTotal:"), ("FreeMemory", "MemAvailable:")] {
        if let Some(kib) = field_of(&texts.meminfo, field) {
            all.insert(name.to_owned(), Raw::Whole(kib / 1024));
        }
    }
    if let Some(boot) = field_of(&texts.stat, "btime") {
        all.insert("BootTime".to_owned(), Raw::Instant(boot));
    }
    if let Some(input) = last_input(texts, memory, now) {
        all.insert("LastInput".to_owned(), Raw::Instant(input));
    }
    all
}

fn field_of(text: &str, field: &str) -> Option<i64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The last key or mouse: when a terminal was read from, or when the keyboard's interrupts were seen to have grown. A host
/// that has neither tells nothing.
fn last_input(texts: &Texts, memory: &mut Memory, now: i64) -> Option<i64> {
    let keys = interrupts(&texts.interrupts);
    if memory.keys.is_some() && keys.is_some() && memory.keys != keys {
        memory.input = Some(now);
    }
    memory.keys = keys;
    memory.input = memory.input.max(texts.terminal);
    memory.input
}

/// How often keyboard and mouse have interrupted; none if there are none.
fn interrupts(text: &str) -> Option<u64> {
    let lines = text.lines().filter(|line| line.contains("i8042"));
    let counts = lines.map(|line| {
        let fields = line.split_whitespace().skip(1);
        fields.map_while(|field| field.parse::<u64>().ok()).fold(0, u64::saturating_add)
    });
    counts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       25165824 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n";
    const INTERRUPTS: &str = "            CPU0       CPU1\n   0:         36          0  IR-IO-APIC    2-edge      timer\n   \
        1:          9        101  IR-IO-APIC    1-edge      i8042\n  12:        144          0  IR-IO-APIC   12-edge      i8042\n";

    fn texts() -> Texts {
        Texts {
            loadavg: "0.25 1.00 2.50 3/1021 4711\n".to_owned(),
            meminfo: MEMINFO.to_owned(),
            stat: "cpu  1 2 3\nbtime 1795000000\nprocesses 5\n".to_owned(),
            interrupts: INTERRUPTS.to_owned(),
            terminal: Some(1_795_000_100),
        }
    }

    #[test]
    fn the_kernels_texts_are_read() {
        let all = attributes(&texts(), &mut Memory::default(), 1_795_000_200);
        let found: Vec<(&str, &Raw)> = all.iter().map(|(name, raw)| (name.as_str(), raw)).collect();
        assert_eq!(
            found,
            [
                ("BootTime", &Raw::Instant(1_795_000_000)),
                ("FreeMemory", &Raw::Whole(12_288)),
                ("LastInput", &Raw::Instant(1_795_000_100)),
                ("LoadAvg", &Raw::Number(0.25)),
                ("LoadAvg15", &Raw::Number(2.5)),
                ("LoadAvg5", &Raw::Number(1.0)),
                ("TotalMemory", &Raw::Whole(24_576)),
            ]
        );
    }

    #[test]
    fn a_key_is_noticed_by_its_interrupt() {
        let mut memory = Memory::default();
        let input = |memory: &mut Memory, texts: &Texts, now| attributes(texts, memory, now).remove("LastInput");
        assert_eq!(input(&mut memory, &texts(), 1_795_000_200), Some(Raw::Instant(1_795_000_100)));
        assert_eq!(input(&mut memory, &texts(), 1_795_000_300), Some(Raw::Instant(1_795_000_100)), "nobody was there");
        let typed = Texts { interrupts: INTERRUPTS.replace("101", "107"), ..texts() };
        assert_eq!(input(&mut memory, &typed, 1_795_000_400), Some(Raw::Instant(1_795_000_400)));
        assert_eq!(input(&mut memory, &typed, 1_795_000_500), Some(Raw::Instant(1_795_000_400)), "and remembered");
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let all = attributes(&Texts { loadavg: "x".to_owned(), ..Texts::default() }, &mut Memory::default(), 0);
        assert_eq!(all, BTreeMap::new());
    }
}
