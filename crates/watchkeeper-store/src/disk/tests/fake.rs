//! Fake files that know what would survive a crash, and fail on request.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::disk::files::{Appender, Files};

/// The fault to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The operation with this number fails, and no other.
    Once(u64),
    /// Power loss: the operation with this number fails, and so do all after it.
    From(u64),
    /// Disk full: all files together hold at most this many bytes.
    Full(usize),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FakeFiles {
    disk: Arc<(Mutex<Disk>, Condvar)>,
}

#[derive(Debug, Default)]
struct Disk {
    /// File numbers by name: now, and after a power loss.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    contents: Vec<Contents>,
    /// The number of modifying operations, and how many of them were syncs.
    operations: u64,
    syncs: u64,
    fault: Option<Fault>,
    /// Syncs block while this is set, and are counted.
    is_held: bool,
    waiting: usize,
}

#[derive(Debug, Clone, Default)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
}

impl Disk {
    fn operate(&mut self) -> io::Result<()> {
        let number = self.operations;
        self.operations += 1;
        match self.fault {
            Some(Fault::Once(at)) if at == number => Err(io::Error::other("injected")),
            Some(Fault::From(at)) if at <= number => Err(io::Error::other("no power")),
            _ => Ok(()),
        }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FakeFiles {
    pub(super) fn fail(&self, fault: Option<Fault>) {
        self.disk.0.lock().fault = fault;
    }

    pub(super) fn operations(&self) -> u64 {
        self.disk.0.lock().operations
    }

    /// Returns the total bytes written to all files, past and present.
    pub(super) fn bytes(&self) -> usize {
        self.disk.0.lock().contents.iter().map(|contents| contents.now.len()).sum()
    }

    pub(super) fn syncs(&self) -> u64 {
        self.disk.0.lock().syncs
    }

    /// Blocks or unblocks all syncs.
    pub(super) fn hold(&self, is_held: bool) {
        self.disk.0.lock().is_held = is_held;
        self.disk.1.notify_all();
    }

    /// Waits until a sync is blocked.
    pub(super) fn until_held(&self) {
        let mut disk = self.disk.0.lock();
        while disk.waiting == 0 {
            self.disk.1.wait(&mut disk);
        }
    }

    pub(super) fn contents(&self, name: &str) -> Vec<u8> {
        let disk = self.disk.0.lock();
        disk.contents[disk.find(name).unwrap()].now.clone()
    }

    pub(super) fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut disk = self.disk.0.lock();
        disk.contents.push(Contents { now: bytes.clone(), durable: bytes });
        let new = disk.contents.len() - 1;
        disk.names.insert(name.to_owned(), new);
        disk.durable_names.insert(name.to_owned(), new);
    }

    /// Removes a file.
    pub(super) fn lose(&self, name: &str) {
        let mut disk = self.disk.0.lock();
        disk.names.remove(name);
        disk.durable_names.remove(name);
    }

    /// Returns a copy of the files.
    pub(super) fn copy(&self) -> Self {
        let copy = Self::default();
        let disk = self.disk.0.lock();
        for (name, number) in &disk.names {
            copy.put(name, disk.contents[*number].now.clone());
        }
        copy
    }

    /// Returns what survives a power loss: everything synced, and a part of the rest, as selected by `choices`.
    pub(super) fn after_crash(&self, mut choices: impl FnMut(usize) -> usize) -> Self {
        let left = Self::default();
        let disk = self.disk.0.lock();
        let names = if choices(2) == 0 { &disk.names } else { &disk.durable_names };
        for (name, number) in names {
            let Contents { now, durable } = &disk.contents[*number];
            let bytes = match now.strip_prefix(durable.as_slice()) {
                Some(rest) => {
                    let mut bytes = [durable, &rest[..choices(rest.len() + 1)]].concat();
                    // Sectors reach the disk in any order.
                    for start in (0..bytes.len()).step_by(512) {
                        let (from, to) = (start.max(durable.len()), (start + 512).min(bytes.len()));
                        if from < to && choices(6) == 0 {
                            bytes[from..to].fill(0);
                        }
                    }
                    bytes
                }
                // Parts of it were overwritten.
                None if now.len() == durable.len() => {
                    let mut bytes = durable.clone();
                    for start in (0..bytes.len()).step_by(512) {
                        let sector = start..(start + 512).min(bytes.len());
                        if now[sector.clone()] != durable[sector.clone()] && choices(2) == 0 {
                            bytes[sector.clone()].copy_from_slice(&now[sector]);
                        }
                    }
                    bytes
                }
                None if choices(2) == 0 => now.clone(),
                None => durable.clone(),
            };
            left.put(name, bytes);
        }
        left
    }
}

impl Files for FakeFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.disk.0.lock().names.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<(Box<dyn Read>, u64)> {
        let disk = self.disk.0.lock();
        let bytes = disk.contents[disk.find(name)?].now.clone();
        let length = bytes.len() as u64;
        Ok((Box::new(io::Cursor::new(bytes)), length))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        let mut disk = self.disk.0.lock();
        disk.operate()?;
        disk.contents.push(Contents::default());
        let number = disk.contents.len() - 1;
        disk.names.insert(name.to_owned(), number);
        Ok(Box::new(FakeFile { files: self.clone(), number, least: 0 }))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        let mut disk = self.disk.0.lock();
        disk.operate()?;
        Ok(Box::new(FakeFile { files: self.clone(), number: disk.find(name)?, least: 0 }))
    }

    fn overwrite(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        self.append(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk.0.lock();
        disk.operate()?;
        let number = disk.find(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), number);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk.0.lock();
        disk.operate()?;
        disk.names.remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.disk.0.lock();
        disk.operate()?;
        disk.durable_names = disk.names.clone();
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("fake").join(name)
    }
}

#[derive(Debug)]
struct FakeFile {
    files: FakeFiles,
    number: usize,
    /// The shortest length since the last sync.
    least: usize,
}

impl Appender for FakeFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.files.disk.0.lock();
        let outcome = disk.operate();
        let taken = disk.contents.iter().map(|contents| contents.now.len()).sum::<usize>();
        let room = match (disk.fault, &outcome) {
            (_, Err(_)) => bytes.len() / 2,
            (Some(Fault::Full(most)), Ok(())) => most.saturating_sub(taken).min(bytes.len()),
            _ => bytes.len(),
        };
        disk.contents[self.number].now.extend_from_slice(&bytes[..room]);
        outcome?;
        if room < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.files.disk.0.lock();
        let outcome = disk.operate();
        let written = if outcome.is_ok() { bytes.len() } else { bytes.len() / 2 };
        let start = usize::try_from(offset).unwrap();
        disk.contents[self.number].now[start..start + written].copy_from_slice(&bytes[..written]);
        self.least = self.least.min(start);
        outcome
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.files.disk.0.lock();
        disk.operate()?;
        let length = usize::try_from(length).unwrap();
        disk.contents[self.number].now.truncate(length);
        self.least = self.least.min(length);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let (lock, condition) = &*self.files.disk;
        let mut disk = lock.lock();
        disk.waiting += 1;
        condition.notify_all();
        while disk.is_held {
            condition.wait(&mut disk);
        }
        disk.waiting -= 1;
        disk.syncs += 1;
        disk.operate()?;
        let Contents { now, durable } = &mut disk.contents[self.number];
        // A log is only appended to or truncated, so the unchanged part need not be copied.
        durable.truncate(now.len().min(self.least));
        durable.extend_from_slice(&now[durable.len()..]);
        self.least = usize::MAX;
        Ok(())
    }
}
