//! What a helper is told, and the rulesets that its command is held to: in memory and as descriptors, because an argument of a
//! program has little room and is there for everybody to read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::MemfdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HelperPlan;
use crate::apply::LAYERS_MAX;
use crate::confinement::ProcessConfinement;
use crate::landlock::LandlockRulesets;

const DESCRIPTORS_MAX: usize = 1 + LAYERS_MAX;
const SPACE: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX));

/// To a helper that has not been started yet: it finds this first on its control socket.
pub(super) fn send(control: impl AsFd, plan: &HelperPlan, rulesets: &LandlockRulesets) -> io::Result<()> {
    let text = memory(plan, MemfdFlags::CLOEXEC)?;
    let descriptors: Vec<BorrowedFd<'_>> = [text.as_fd()].into_iter().chain(rulesets.descriptors()).collect();
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("more rulesets than can be sent"));
    }
    sendmsg(control, &[IoSlice::new(b"p")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

pub(super) fn receive(control: BorrowedFd<'_>) -> io::Result<HelperPlan> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(control, &mut [IoSliceMut::new(&mut [0; 1])], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let mut plan: HelperPlan = read(descriptors.next().ok_or(io::ErrorKind::InvalidInput)?)?;
    plan.confinement.rulesets = LandlockRulesets::received(descriptors.collect());
    Ok(plan)
}

/// For the helper inside of name spaces, through the program that builds them: how it finds it.
pub(super) fn inherited(confinement: &ProcessConfinement) -> io::Result<OsString> {
    let text = memory(confinement, MemfdFlags::empty())?;
    // Left open for whoever inherits it.
    Ok(OwnedFd::from(text).into_raw_fd().to_string().into())
}

pub(super) fn inherit(number: &OsStr) -> io::Result<ProcessConfinement> {
    let number: RawFd =
        number.to_str().and_then(|number| number.parse().ok()).ok_or(io::ErrorKind::InvalidInput)?;
    if number < 3 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: it was left open for us and nothing else here knows of it.
    read(unsafe { OwnedFd::from_raw_fd(number) })
}

fn memory(value: &impl Serialize, flags: MemfdFlags) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("plan", flags)?);
    file.write_all(&serde_json::to_vec(value)?)?;
    file.rewind()?;
    Ok(file)
}

fn read<T: DeserializeOwned>(from: OwnedFd) -> io::Result<T> {
    let mut text = Vec::new();
    File::from(from).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
