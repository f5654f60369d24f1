//! Names of host sessions, one per directory and room.

use std::path::Path;

/// Derives the short name of a session from its directory, room and number (FNV-1a, 50 bits): the same for everyone who
/// connects from this directory.
pub fn room_session(workspace: &Path, room: Option<&str>, number: u32) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let place = format!("{}\0{}\0{number}", workspace.display(), room.unwrap_or_default());
    let hash = place.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let letter = |at: u32| ALPHABET[(hash >> (5 * at) & 31) as usize] as char;
    format!("mcp{}", (0..10).map(letter).collect::<String>())
}
