//! Where tables lie, and which lanes of an entry belong to which feature.
//!
//! Groups of one output whose features together fit an entry's lanes make a class: their entries are
//! added lane by lane, and a class is added to the output's features once per row. A model of at most 16
//! features has one class per output. A class's groups are taken a chunk at a time, whose tables
//! stay in the processor's first cache while the rows of a block look them up.

use super::fill::Lanes;
use super::group::{BITS, Group};
use super::literals::Literal;
use super::{Line, WIDTH};

/// A group and its table's numbers, before it has a place.
pub(super) struct Planned {
    group: Group,
    values: Vec<[f32; BITS]>,
}

impl Planned {
    pub(super) fn of(group: Group, entries: &[Lanes]) -> Self {
        let values = entries.iter().map(|entry| entry.map(|number| number as f32)).collect();
        Planned { group, values }
    }

    /// What a group will take.
    pub(super) fn bytes(group: &Group) -> usize {
        group.entries * size_of::<Line>() + size_of::<Record>()
    }

    fn features(&self) -> Vec<u32> {
        let mut features: Vec<u32> =
            self.group.features.iter().map(|feature| feature.feature).collect();
        features.sort_unstable();
        features
    }
}

/// A group, as it is looked up.
pub(super) struct Record {
    /// For each bit of a code two literals that must hold.
    pub(super) bits: [[Literal; 2]; BITS],
    /// The entry of every code: below the number of the table's lines.
    pub(super) look_up: [u8; 1 << BITS],
    /// Its first line.
    pub(super) table: usize,
    entries: usize,
}

/// Groups whose entries have the same lanes.
pub(super) struct Class {
    pub(super) output: usize,
    /// The feature of each lane.
    pub(super) features: Vec<u32>,
    pub(super) chunks: Vec<Chunk>,
}

/// Groups that are looked up together.
pub(super) struct Chunk {
    pub(super) records: Vec<Record>,
    /// The lines of all their tables.
    pub(super) lines: std::ops::Range<usize>,
}

/// Most groups of a chunk, and lines of their tables.
pub(super) const CHUNK_GROUPS: usize = 16;
const CHUNK_LINES: usize = (48 << 10) / size_of::<Line>();

/// Classes that are looked through for one that a group fits in.
const RECENT: usize = 48;

pub(super) fn lay_out(
    planned: Vec<Planned>,
    num_features: usize,
    check_interrupts: &mut dyn FnMut(),
) -> (Vec<Class>, Vec<Line>) {
    let mut sorted: Vec<(Vec<u32>, Planned)> =
        planned.into_iter().map(|planned| (planned.features(), planned)).collect();
    let mut classes: Vec<(Class, Vec<Planned>)> = Vec::new();
    // The largest sets first, and alike ones together.
    sorted.sort_by(|(a, one), (b, other)| {
        (one.group.output, b.len(), a).cmp(&(other.group.output, a.len(), b))
    });
    for (features, planned) in sorted {
        let output = planned.group.output;
        let recent = classes.len().saturating_sub(RECENT)..classes.len();
        let fits = |class: &Class| {
            let more = features.iter().filter(|feature| !class.features.contains(feature)).count();
            (class.output == output && class.features.len() + more <= WIDTH).then_some(more)
        };
        let best =
            recent.filter_map(|at| Some((fits(&classes.get(at)?.0)?, at))).min().map(|(_, at)| at);
        let at = best.unwrap_or_else(|| {
            let features =
                if num_features <= WIDTH { (0..num_features as u32).collect() } else { Vec::new() };
            classes.push((Class { output, features, chunks: Vec::new() }, Vec::new()));
            classes.len() - 1
        });
        let (class, members) = &mut classes[at];
        for feature in features {
            if !class.features.contains(&feature) {
                class.features.push(feature);
            }
        }
        members.push(planned);
    }
    let mut lines = Vec::new();
    for (class, members) in &mut classes {
        for planned in std::mem::take(members) {
            check_interrupts();
            class.add(planned, &mut lines);
        }
    }
    (classes.into_iter().map(|(class, _)| class).collect(), lines)
}

impl Class {
    fn add(&mut self, planned: Planned, lines: &mut Vec<Line>) {
        let Planned { group, values } = planned;
        let table = lines.len();
        let lane = |feature: u32| self.features.iter().position(|known| *known == feature);
        let lanes: Vec<usize> =
            group.features.iter().filter_map(|feature| lane(feature.feature)).collect();
        lines.extend(values.iter().map(|values| {
            let mut line = Line([0.0; WIDTH]);
            lanes.iter().zip(values).for_each(|(lane, value)| line.0[*lane] = *value);
            line
        }));
        let look_up = group.look_up();
        let record = Record { bits: group.bits, look_up, table, entries: values.len() };
        match self.chunks.last_mut() {
            Some(chunk)
                if chunk.records.len() < CHUNK_GROUPS
                    && lines.len() - chunk.lines.start <= CHUNK_LINES =>
            {
                chunk.lines.end = lines.len();
                chunk.records.push(record);
            }
            _ => self.chunks.push(Chunk { records: vec![record], lines: table..lines.len() }),
        }
    }
}

impl Record {
    /// Whether every code has an entry within the lines.
    pub(super) fn is_sound(&self, lines: usize) -> bool {
        self.look_up.iter().all(|entry| usize::from(*entry) < self.entries)
            && self.table + self.entries <= lines
    }
}
