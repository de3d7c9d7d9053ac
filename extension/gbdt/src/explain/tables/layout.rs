//! Where tables lie, and which lanes of an entry belong to which feature or pair.
//!
//! Groups of one output whose features together fit an entry's lanes make a class: their entries are
//! added lane by lane, and a class is added to the row's numbers once. A class's groups are taken a chunk
//! at a time, whose tables stay in the processor's first caches while the rows of a block look them up.

use std::ops::Range;

use super::group::{BITS, Group};
use super::literals::{Literal, Numbers};
use super::{Line, Of, WIDTH, numbers_of_mut};
use crate::verified::sure;

/// How wide entries are.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    of: Of,
    /// Most features of a class.
    features: usize,
    /// Numbers of an entry: 8, 16 or 32.
    pub(super) numbers: usize,
    /// Features of the model.
    num_features: usize,
}

impl Shape {
    /// Entries of eight numbers take half the memory of those of sixteen, but sets of many features make
    /// so many classes of eight that adding these takes longer.
    pub(super) fn of(of: Of, num_features: usize) -> Self {
        let (features, numbers) = match of {
            Of::Features if num_features <= WIDTH => (8, 8),
            Of::Features => (16, 16),
            Of::Pairs => (8, 32),
        };
        Shape { of, features, numbers, num_features }
    }

    /// One that makes half as many classes in twice the memory, where they are many.
    pub(super) fn wide(of: Of, num_features: usize) -> Option<Self> {
        (of == Of::Features && num_features > WIDTH).then_some(Shape {
            of,
            features: 32,
            numbers: 32,
            num_features,
        })
    }

    /// What a group will take.
    pub(super) fn bytes(self, group: &Group) -> usize {
        self.lines(group.entries) * size_of::<Line>() + Groups::BYTES
    }

    fn lines(self, entries: usize) -> usize {
        (entries * self.numbers).div_ceil(WIDTH)
    }

    /// Numbers of a row per output.
    fn stride(self) -> usize {
        let width = self.num_features + 1;
        match self.of {
            Of::Features => width,
            Of::Pairs => width * width,
        }
    }
}

/// A group and its table's numbers, before it has a place.
pub(super) struct Planned {
    group: Group,
    /// Of each entry as many as the filler has lanes.
    values: Vec<f32>,
}

impl Planned {
    pub(super) fn of<const LANES: usize>(group: Group, entries: &[[f64; LANES]]) -> Self {
        let values = entries.as_flattened().iter().map(|number| *number as f32).collect();
        Planned { group, values }
    }

    pub(super) fn renumber(&mut self, numbers: &Numbers) {
        for literal in self.group.bits.as_flattened_mut() {
            *literal = numbers.of(*literal);
        }
    }

    fn features(&self) -> Vec<u32> {
        let mut features: Vec<u32> =
            self.group.features.iter().map(|feature| feature.feature).collect();
        features.sort_unstable();
        features
    }
}

/// For each bit of a group's code two literals that must hold.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Bits(pub(super) [[Literal; 2]; BITS]);

/// The entry of every code of a group.
#[repr(C, align(64))]
pub(super) struct LookUp(pub(super) [u8; 1 << BITS]);

/// Groups, as they are looked up: a step that has one row reads one array after the other, and what is read in
/// order need not be waited for.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) bits: Vec<Bits>,
    pub(super) look_ups: Vec<LookUp>,
    /// The first number of each one's table.
    pub(super) tables: Vec<usize>,
}

impl Groups {
    const BYTES: usize = size_of::<Bits>() + size_of::<LookUp>() + size_of::<usize>();

    pub(super) fn bytes(&self) -> usize {
        self.tables.len() * Self::BYTES
    }
}

/// Groups whose entries have the same lanes.
pub(super) struct Class {
    output: usize,
    features: Vec<u32>,
    /// Numbers of an entry.
    pub(super) numbers: usize,
    /// Which of a row's numbers each lane is added to.
    targets: Vec<usize>,
    pub(super) groups: Groups,
    pub(super) chunks: Vec<Chunk>,
}

/// Groups that are looked up together.
pub(super) struct Chunk {
    pub(super) groups: Range<usize>,
    /// The lines of all their tables.
    pub(super) lines: Range<usize>,
}

/// Most groups of a chunk, and lines of their tables.
pub(super) const CHUNK_GROUPS: usize = 16;
const CHUNK_LINES: usize = (48 << 10) / size_of::<Line>();

/// Classes that are looked through for one that a group fits in.
const RECENT: usize = 48;

pub(super) fn lay_out(
    planned: Vec<Planned>,
    shape: Shape,
    check_interrupts: &mut dyn FnMut(),
) -> (Vec<Class>, Vec<Line>) {
    let total = planned.iter().map(|planned| shape.lines(planned.group.entries)).sum();
    let mut sorted: Vec<(Vec<u32>, Planned)> =
        planned.into_iter().map(|planned| (planned.features(), planned)).collect();
    let mut classes: Vec<(Class, Vec<Planned>)> = Vec::new();
    // The largest sets first, and alike ones together.
    sorted.sort_by(|(a, one), (b, other)| {
        (one.group.output, b.len(), a).cmp(&(other.group.output, a.len(), b))
    });
    for (features, planned) in sorted {
        check_interrupts();
        let output = planned.group.output;
        let recent = classes.len().saturating_sub(RECENT)..classes.len();
        let fits = |class: &Class| {
            let more = features.iter().filter(|feature| !class.features.contains(feature)).count();
            (class.output == output && class.features.len() + more <= shape.features)
                .then_some(more)
        };
        let best =
            recent.filter_map(|at| Some((fits(&classes[at].0)?, at))).min().map(|(_, at)| at);
        let at = best.unwrap_or_else(|| {
            classes.push((Class::new(output, shape), Vec::new()));
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
    let mut lines = Vec::with_capacity(total);
    for (class, members) in &mut classes {
        class.set_targets(shape);
        class.groups.bits.reserve_exact(members.len());
        class.groups.look_ups.reserve_exact(members.len());
        class.groups.tables.reserve_exact(members.len());
        for planned in std::mem::take(members) {
            check_interrupts();
            class.add(shape, planned, &mut lines);
        }
    }
    (classes.into_iter().map(|(class, _)| class).collect(), lines)
}

/// The lane of a pair of positions below 8: that of [`super::fill`].
pub(super) const fn pair_lane(one: usize, other: usize) -> usize {
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    high * (high - 1) / 2 + low
}

impl Class {
    fn new(output: usize, shape: Shape) -> Self {
        let (features, targets, chunks) = (Vec::new(), Vec::new(), Vec::new());
        Class {
            output,
            features,
            numbers: shape.numbers,
            targets,
            groups: Groups::default(),
            chunks,
        }
    }

    fn set_targets(&mut self, shape: Shape) {
        let first = self.output * shape.stride();
        match shape.of {
            Of::Features => {
                self.targets =
                    self.features.iter().map(|feature| first + *feature as usize).collect();
            }
            Of::Pairs => {
                let width = shape.num_features + 1;
                for (at, one) in self.features.iter().enumerate() {
                    for other in &self.features[..at] {
                        let (low, high) = (*one.min(other) as usize, *one.max(other) as usize);
                        self.targets.push(first + low * width + high);
                    }
                }
            }
        }
    }

    /// Adds an entry's sums to a row's numbers.
    #[inline(always)]
    pub(super) fn add_to(&self, sums: &[f32], out: &mut [f32]) {
        for (target, sum) in self.targets.iter().zip(sums) {
            out[*target] += sum;
        }
    }

    fn add(&mut self, shape: Shape, planned: Planned, lines: &mut Vec<Line>) {
        let Planned { group, values } = planned;
        let first = lines.len();
        let lane = |feature: u32| {
            let at = self.features.iter().position(|known| *known == feature);
            sure(at, "a class has the features of its groups")
        };
        let positions: Vec<usize> =
            group.features.iter().map(|feature| lane(feature.feature)).collect();
        // The lane of each number.
        let lanes: Vec<usize> = match shape.of {
            Of::Features => positions,
            Of::Pairs => (0..positions.len())
                .flat_map(|high| (0..high).map(move |low| (low, high)))
                .map(|(low, high)| pair_lane(positions[low], positions[high]))
                .collect(),
        };
        lines.resize(first + shape.lines(group.entries), Line([0.0; WIDTH]));
        let entries = numbers_of_mut(&mut lines[first..]).chunks_exact_mut(shape.numbers);
        for (entry, values) in entries.zip(values.chunks_exact(values.len() / group.entries)) {
            lanes.iter().zip(values).for_each(|(lane, value)| entry[*lane] = *value);
        }
        let (number, look_up) = (self.groups.tables.len(), group.look_up());
        debug_assert!(look_up.iter().all(|entry| usize::from(*entry) < group.entries), "entries");
        self.groups.bits.push(Bits(group.bits));
        self.groups.look_ups.push(LookUp(look_up));
        self.groups.tables.push(first * WIDTH);
        match self.chunks.last_mut() {
            Some(chunk)
                if chunk.groups.len() < CHUNK_GROUPS
                    && lines.len() - chunk.lines.start <= CHUNK_LINES =>
            {
                chunk.lines.end = lines.len();
                chunk.groups.end = number + 1;
            }
            _ => {
                let groups = number..number + 1;
                self.chunks.push(Chunk { groups, lines: first..lines.len() });
            }
        }
    }
}
