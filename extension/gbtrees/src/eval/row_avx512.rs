//! One row with AVX-512: 64 trees per register.
//!
//! The ranks of all columns fit in two registers, in which each of 64 trees looks up its node's rank:
//! one permutation and one comparison decide a node of 64 trees. The upper levels are decided
//! completely and their bits chosen as for blocks of rows. Below, the block of nodes that a tree has
//! reached is decided completely, four trees at a time, and a table maps its seven decisions to a path.
//! This uses the sections `CHUNKS`, `TOP_NODES` and `NODE_BLOCKS`; models without them use interleaved
//! traversal.
#![allow(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64::*;

use crate::compiled::sections::{
    CHUNK_GROUPS, CHUNKS, CONDITION_COLUMNS, NODE_BLOCKS, OUTPUTS, SEARCH_TREES, Sections,
    TOP_NODES,
};
use crate::compiled::tiles::{
    CHUNK_TREES, Chunk, ColumnKind, ConditionColumn, MIN_SEARCH_LEVELS, NodeBlock, TILE_LEVELS,
    TOP_LEVELS, TileGroup, TopNode, tile_leaves,
};
use crate::eval::sum::Sum;
use crate::verified;

/// The sections read per tree or column; few, since finding them takes part of a row's time.
struct Chunked<'a, S> {
    outputs: &'a [u32],
    search_trees: &'a [f32],
    top_nodes: &'a [TopNode],
    node_blocks: &'a [NodeBlock],
    leaves: &'a [S],
}

/// Paths through a block, as three bits, by its decisions as bits.
static PATHS: [u8; 128] = {
    let mut paths = [0; 128];
    let mut decisions = 0;
    while decisions < 128 {
        let first = decisions & 1;
        let second = decisions >> (1 + first) & 1;
        let third = decisions >> (3 + 2 * first + second) & 1;
        paths[decisions] = (4 * first + 2 * second + third) as u8;
        decisions += 1;
    }
    paths
};

/// Positions of decisions: those of tree 32 h + 4 q + i are byte q of word 2 i + h.
static ORDER: Bytes<CHUNK_TREES> = {
    let mut order = [0; CHUNK_TREES];
    let mut tree = 0;
    while tree < CHUNK_TREES {
        let (half, quarter, lane) = (tree / 32, tree / 4 % 8, tree % 4);
        order[tree] = (8 * (2 * lane + half) + quarter) as u8;
        tree += 1;
    }
    Bytes(order)
};

/// Bytes of a register, aligned as one.
#[repr(C, align(64))]
struct Bytes<const COUNT: usize>([u8; COUNT]);

/// Adds the leaves of all trees to a row's sums, if the compiled model has chunks; returns whether it
/// has.
///
/// # Safety
/// The processor has the instructions; features and sums have the compiled model's numbers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt")]
pub(super) unsafe fn add<S: Sum>(sections: Sections<'_>, features: &[f32], sums: &mut [S]) -> bool {
    let chunks = sections.get(CHUNKS);
    if chunks.is_empty() {
        return false;
    }
    let compiled = &Chunked {
        outputs: sections.get(OUTPUTS),
        search_trees: sections.get(SEARCH_TREES),
        top_nodes: sections.get(TOP_NODES),
        node_blocks: sections.get(NODE_BLOCKS),
        leaves: S::tile_leaves(sections),
    };
    let groups = sections.get(CHUNK_GROUPS);
    let mut columns = sections.get(CONDITION_COLUMNS).chunks(64);
    // Up to 64 columns leave the second register empty, and no node reads it.
    let ranks =
        std::array::from_fn(|_| ranks_of(compiled, columns.next().unwrap_or_default(), features));
    let mut paths = Bytes([0; CHUNK_TREES]);
    for chunk in chunks {
        // SAFETY: verification has checked that the chunk's nodes exist.
        let numbers = unsafe { leaf_indices(compiled, chunk, ranks) };
        // SAFETY: 64 aligned bytes are written.
        unsafe { _mm512_store_si512(paths.0.as_mut_ptr().cast(), numbers) };
        let (first, count) = (chunk.first_group as usize, chunk.groups as usize);
        // SAFETY: `compiled::verify::tiles` has checked that each chunk's groups exist.
        let groups = unsafe { verified::range(groups, first, count, "a chunk has its groups") };
        let mut lane = 0;
        for group in groups {
            let count = group.count as usize;
            // SAFETY: as above: a chunk has at most 64 trees, its groups'.
            let paths = unsafe { verified::range(&paths.0, lane, count, "a chunk has 64 trees") };
            let shift = chunk.levels - group.levels;
            add_leaves(compiled, group, paths, shift, sums);
            lane += count;
        }
    }
    true
}

/// Returns a row's ranks in up to 64 columns, composed in registers: loading just written bytes would
/// stall.
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt")]
fn ranks_of<S>(
    compiled: &Chunked<'_, S>,
    columns: &[ConditionColumn],
    features: &[f32],
) -> __m512i {
    let mut ranks = _mm512_setzero_si512();
    let mut lane = 1u8;
    for columns in columns.chunks(8) {
        let mut word = 0u64;
        for column in columns.iter().rev() {
            word = word << 8 | rank_of(compiled, column, features);
        }
        ranks = _mm512_mask_set1_epi64(ranks, lane, word.cast_signed());
        lane = lane.wrapping_add(lane);
    }
    ranks
}

/// Returns a value's rank in a column by counting the thresholds that it is not below.
///
/// # Safety
/// The processor has the instructions.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt")]
fn rank_of<S>(compiled: &Chunked<'_, S>, column: &ConditionColumn, features: &[f32]) -> u64 {
    let feature = column.feature as usize;
    // SAFETY: verification has checked each column's feature, and the row has all features.
    let value =
        _mm512_set1_ps(unsafe { *verified::at(features, feature, "a column is of a feature") });
    // SAFETY: verification has checked that the column's search tree exists.
    let tree = unsafe { compiled.search_trees.as_ptr().add(column.tree as usize) };
    // SAFETY: as above; it has at least 32 places, a multiple of that.
    unsafe {
        if column.kind == ColumnKind::RankedMissingRight {
            count::<_CMP_NLT_UQ>(value, tree, column.levels)
        } else {
            count::<_CMP_GE_OQ>(value, tree, column.levels)
        }
    }
}

/// Counts the nodes of a search tree that a value compares with; the first place is not a node.
///
/// # Safety
/// The processor has the instructions; `tree` has `levels` levels, at least 5.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt")]
unsafe fn count<const COMPARE: i32>(value: __m512, tree: *const f32, levels: u32) -> u64 {
    let compare = |place: usize| {
        // SAFETY: the place is within the tree.
        let nodes = unsafe { _mm512_loadu_ps(tree.add(place)) };
        _mm512_cmp_ps_mask::<COMPARE>(value, nodes)
    };
    let compare_32 =
        |place: usize| _mm512_kunpackw(compare(place + 16).into(), compare(place).into());
    let compare_64 = |place: usize| {
        let both = _mm512_kunpackd(compare_32(place + 32).into(), compare_32(place).into());
        u64::from(both.count_ones())
    };
    if levels == MIN_SEARCH_LEVELS {
        return u64::from((compare_32(0) & !1).count_ones());
    }
    let first = _mm512_kunpackd(compare_32(32).into(), compare_32(0).into());
    let mut count = u64::from((first & !1).count_ones());
    for part in 1..1usize << (levels - MIN_SEARCH_LEVELS - 1) {
        count += compare_64(64 * part);
    }
    count
}

/// Returns the leaf indices of a chunk's tiles, with a bit per level of the chunk.
///
/// # Safety
/// The processor has the instructions; the chunk's nodes exist.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn leaf_indices<S>(
    compiled: &Chunked<'_, S>,
    chunk: &Chunk,
    ranks: [__m512i; 2],
) -> __m512i {
    // SAFETY: as for this function.
    unsafe {
        let nodes = compiled.top_nodes.as_ptr().add(chunk.top_nodes as usize);
        let blocks = compiled.node_blocks.as_ptr().add(chunk.blocks as usize);
        match chunk.levels {
            0 => _mm512_setzero_si512(),
            1 => top::<1>(nodes, ranks),
            2 => top::<2>(nodes, ranks),
            3 => top::<3>(nodes, ranks),
            4 => top::<4>(nodes, ranks),
            5 => top::<5>(nodes, ranks),
            6 => top::<6>(nodes, ranks),
            levels => {
                let top = top::<{ TOP_LEVELS as usize }>(nodes, ranks);
                let paths = below(blocks, chunk.trees as usize, top, ranks);
                // On bytes: the mask removes what a shift of words brings over from the next byte.
                if levels == TILE_LEVELS {
                    paths
                } else {
                    _mm512_and_si512(_mm512_srli_epi16::<1>(paths), _mm512_set1_epi8(0x7f))
                }
            }
        }
    }
}

/// The columns of 64 trees' nodes, and the ranks from which on they go right.
#[derive(Clone, Copy)]
struct Nodes {
    columns: __m512i,
    ranks: __m512i,
}

/// Picks each tree's node of a level by the decisions of the levels above, whose number is in the type.
/// The first decision picks first, so that only one choice waits for the last.
trait Pick {
    /// Returns the nodes at places whose last `depth` bits are `suffix`.
    ///
    /// # Safety
    /// The processor has the instructions, and the level's nodes exist.
    unsafe fn pick(level: *const TopNode, right: &[u64], suffix: usize, depth: u32) -> Nodes;
}

struct Root;
struct Below<P>(std::marker::PhantomData<P>);

impl Pick for Root {
    #[inline(always)]
    unsafe fn pick(level: *const TopNode, _: &[u64], suffix: usize, _: u32) -> Nodes {
        // SAFETY: the node exists; it is two registers, aligned.
        unsafe {
            let node = level.add(suffix);
            Nodes {
                columns: _mm512_load_si512((*node).columns.as_ptr().cast()),
                ranks: _mm512_load_si512((*node).ranks.as_ptr().cast()),
            }
        }
    }
}

impl<P: Pick> Pick for Below<P> {
    #[inline(always)]
    unsafe fn pick(level: *const TopNode, right: &[u64], suffix: usize, depth: u32) -> Nodes {
        // SAFETY: as for this function.
        unsafe {
            // There are as many decisions as levels above.
            let Some((last, before)) = right.split_last() else {
                return Root::pick(level, right, suffix, depth);
            };
            let a = P::pick(level, before, suffix, depth + 1);
            let b = P::pick(level, before, suffix | 1 << depth, depth + 1);
            Nodes {
                columns: _mm512_mask_blend_epi8(*last, a.columns, b.columns),
                ranks: _mm512_mask_blend_epi8(*last, a.ranks, b.ranks),
            }
        }
    }
}

type Below1 = Below<Root>;
type Below2 = Below<Below1>;
type Below3 = Below<Below2>;
type Below4 = Below<Below3>;
type Below5 = Below<Below4>;

/// Returns the paths of 64 trees through their upper levels.
///
/// # Safety
/// The processor has the instructions; the nodes of `LEVELS` levels exist, with the root at 1.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn top<const LEVELS: usize>(nodes: *const TopNode, ranks: [__m512i; 2]) -> __m512i {
    let mut numbers = _mm512_setzero_si512();
    let mut right = [0u64; 6];
    macro_rules! level {
        ($level:literal, $pick:ty) => {
            if $level < LEVELS {
                let nodes = <$pick>::pick(nodes.add(1 << $level), &right[..$level], 0, 0);
                let found = _mm512_permutex2var_epi8(ranks[0], nodes.columns, ranks[1]);
                right[$level] = _mm512_cmpge_epu8_mask(found, nodes.ranks);
                let twice = _mm512_add_epi8(numbers, numbers);
                numbers = _mm512_mask_add_epi8(twice, right[$level], twice, _mm512_set1_epi8(1));
            }
        };
    }
    // SAFETY: the nodes of these levels exist, one level after another, with the root at 1.
    unsafe {
        level!(0, Root);
        level!(1, Below1);
        level!(2, Below2);
        level!(3, Below3);
        level!(4, Below4);
        level!(5, Below5);
    }
    numbers
}

/// Extends the paths of 64 trees to all levels, treated as eight.
///
/// # Safety
/// The processor has the instructions, and blocks of 64 trees exist.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn below(
    blocks: *const NodeBlock,
    trees: usize,
    top: __m512i,
    ranks: [__m512i; 2],
) -> __m512i {
    let mut numbers = Bytes([0; CHUNK_TREES]);
    let zero = _mm512_setzero_si512();
    // A bit for every node of a block, in the lower half of each 16 bytes.
    let weights = _mm512_set4_epi32(0, 0, 0x0040_2010, 0x0804_0201);
    // Bytes of decisions, eight trees per word: the first 32 trees, then the others.
    let mut decisions = [zero; 2];
    // SAFETY: 64 aligned bytes are written. There are 32 blocks for each of 64 trees, and five-bit
    // numbers are below that.
    unsafe {
        _mm512_store_si512(numbers.0.as_mut_ptr().cast(), top);
        let block = |tree: usize| {
            let number = usize::from(numbers.0[tree % CHUNK_TREES] & 31);
            _mm_load_si128(blocks.add((tree << TOP_LEVELS) + number).cast())
        };
        for (half, decisions) in decisions.iter_mut().enumerate().take(trees.div_ceil(32)) {
            for quarter in 0..8usize {
                let tree = 32 * half + 4 * quarter;
                let four = _mm512_castsi128_si512(block(tree));
                let four = _mm512_inserti32x4::<1>(four, block(tree + 1));
                let four = _mm512_inserti32x4::<2>(four, block(tree + 2));
                let four = _mm512_inserti32x4::<3>(four, block(tree + 3));
                let rank = _mm512_permutex2var_epi8(ranks[0], four, ranks[1]);
                let right = _mm512_cmpge_epu8_mask(rank, _mm512_unpackhi_epi64(four, four));
                let bits = _mm512_sad_epu8(_mm512_maskz_mov_epi8(right, weights), zero);
                let bits = _mm512_sll_epi64(bits, _mm_cvtsi32_si128(8 * quarter as i32));
                *decisions = _mm512_or_si512(*decisions, bits);
            }
        }
    }
    let together = _mm512_or_si512(decisions[0], _mm512_bslli_epi128::<8>(decisions[1]));
    // SAFETY: registers are read, aligned except for the table, which has two.
    unsafe {
        let order = _mm512_load_si512(ORDER.0.as_ptr().cast());
        let decisions = _mm512_permutexvar_epi8(order, together);
        let low = _mm512_loadu_si512(PATHS.as_ptr().cast());
        let high = _mm512_loadu_si512(PATHS.as_ptr().add(64).cast());
        let paths = _mm512_permutex2var_epi8(low, decisions, high);
        // Numbers have five bits, so none leaves its byte.
        _mm512_or_si512(_mm512_slli_epi16::<3>(top), paths)
    }
}

#[inline(always)]
fn add_leaves<S: Sum>(
    compiled: &Chunked<'_, S>,
    group: &TileGroup,
    paths: &[u8],
    shift: u32,
    sums: &mut [S],
) {
    let stride = tile_leaves(group.levels);
    let start = group.leaves as usize;
    let leaf = |lane: usize, path: u8| {
        debug_assert!(start + lane * stride + usize::from(path) < compiled.leaves.len(), "leaves");
        // SAFETY: verification has checked that the leaves of the group's tiles exist; a path has as
        // many bits as the tile has levels.
        unsafe { *compiled.leaves.get_unchecked(start + lane * stride + usize::from(path)) }
    };
    let paths = paths.iter().enumerate();
    if shift == 0 {
        sum(compiled.outputs, group, paths.map(|(lane, path)| leaf(lane, *path)), sums);
    } else {
        // A tile without levels in a chunk of eight shifts by as many bits as a path has.
        let shifted = |path: u8| (u32::from(path) >> shift) as u8;
        sum(compiled.outputs, group, paths.map(|(lane, path)| leaf(lane, shifted(*path))), sums);
    }
}

/// Adds the leaves of a group, in order.
#[inline(always)]
fn sum<S: Sum>(
    outputs: &[u32],
    group: &TileGroup,
    leaves: impl Iterator<Item = S>,
    sums: &mut [S],
) {
    if let [only] = sums {
        let mut sum = *only;
        leaves.for_each(|leaf| sum += leaf);
        *only = sum;
        return;
    }
    let (first, count) = (group.first as usize, group.count as usize);
    // SAFETY: `compiled::verify` has checked that there is an output per tree, and each group's trees.
    let outputs = unsafe { verified::range(outputs, first, count, "a group's trees have outputs") };
    for (leaf, output) in leaves.zip(outputs) {
        // SAFETY: as above; outputs are the model's, and have sums.
        let sum = unsafe { verified::at_mut(sums, *output as usize, "an output has a sum") };
        *sum += leaf;
    }
}
