//! Edits of the 32-bit words of FlatBuffers: numbers change, links mostly stay.

use fastrand::Rng;

use super::NUMBERS;

const WORD: usize = size_of::<u32>();
/// Size of cbm's signature and length.
const HEAD: usize = 8;

/// Makes one to four edits to a cbm file.
pub fn edit(bytes: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let mut edited = bytes.to_vec();
    let core =
        edited.get_mut(HEAD..).filter(|core| bytes.starts_with(b"CBM1") && core.len() >= WORD)?;
    for _ in 0..random.usize(1..=4) {
        edit_word(core, random);
    }
    Some(edited)
}

/// Changes one whole word, if there is one.
pub fn edit_word(bytes: &mut [u8], random: &mut Rng) {
    let (words, _) = bytes.as_chunks_mut::<WORD>();
    let length = words.len() * WORD;
    if words.is_empty() {
        return;
    }
    let other = words[random.usize(..words.len())];
    let at = random.usize(..words.len());
    let old = u32::from_le_bytes(words[at]);
    // The word could be a link.
    if (WORD..length - at * WORD).contains(&(old as usize))
        && old as usize % WORD == 0
        && random.u8(..8) > 0
    {
        return;
    }
    let number = NUMBERS[random.usize(..NUMBERS.len())];
    words[at] = match random.u8(..8) {
        0 => old.wrapping_add(1).to_le_bytes(),
        1 => old.wrapping_sub(1).to_le_bytes(),
        2 => (old ^ 1 << 31).to_le_bytes(),
        3 => (number as f32).to_le_bytes(),
        // The upper half of a 64-bit number.
        4 => ((number.to_bits() >> 32) as u32).to_le_bytes(),
        5 => (number as u32).to_le_bytes(),
        6 => f32::NAN.to_le_bytes(),
        _ => other,
    };
}
