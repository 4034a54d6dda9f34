//! The versions that the parts of a union have reached.

use crate::{ListAt, ResourceVersion, WatchFrom};

/// The version that each part has reached (`union.U1`).
#[derive(Debug)]
pub(super) struct Positions {
    /// Empty versions before the first list.
    parts: Vec<ResourceVersion>,
    /// A page of the last list expired, so the next list is not paged.
    pub(super) page_expired: bool,
}

impl Positions {
    pub(super) fn new(parts: usize) -> Self {
        Self { parts: vec![ResourceVersion::default(); parts], page_expired: false }
    }

    /// Sets all versions after a list or initial events.
    pub(super) fn set_all(&mut self, parts: Vec<ResourceVersion>) {
        self.parts = parts;
    }

    /// Advances a part.
    pub(super) fn reach(&mut self, part: usize, version: &ResourceVersion) {
        if !version.is_empty() {
            self.parts[part] = version.clone();
        }
    }

    /// Translates a request for a state of the union into one for a part.
    pub(super) fn list_at(&self, part: usize, at: &ListAt) -> ListAt {
        let own = || self.parts[part].clone();
        match at {
            ListAt::MostRecent | ListAt::Any | ListAt::Page(_) => at.clone(),
            ListAt::NotOlderThan(_) => ListAt::NotOlderThan(own()),
            ListAt::Exact(_) => ListAt::Exact(own()),
            ListAt::Unqualified(_) => ListAt::Unqualified(own()),
        }
    }

    /// Sets the start of a watch for parts without a version.
    pub(super) fn begin(&mut self, from: &WatchFrom) {
        if let WatchFrom::After(version) = from
            && *version != ResourceVersion::ANY
        {
            let unknown = self.parts.iter_mut().filter(|own| own.is_empty());
            unknown.for_each(|own| *own = version.clone());
        }
    }

    /// Translates the start of a watch of the union into that of a part.
    pub(super) fn watch_from(&self, part: usize, from: &WatchFrom) -> WatchFrom {
        match from {
            WatchFrom::After(_) => WatchFrom::After(self.parts[part].clone()),
            WatchFrom::InitialEvents { not_older_than } => {
                let own = not_older_than.as_ref().map(|_| self.parts[part].clone());
                WatchFrom::InitialEvents { not_older_than: own.filter(|own| !own.is_empty()) }
            }
        }
    }

    /// Returns the version of the union (`union.U2`).
    pub(super) fn lowest(&self) -> ResourceVersion {
        lowest(&self.parts)
    }
}

fn lowest(versions: &[ResourceVersion]) -> ResourceVersion {
    let mut lowest = match versions {
        [] => return ResourceVersion::default(),
        [first, ..] => first,
    };
    for version in versions {
        match version.compare(lowest) {
            Ok(order) if order.is_lt() => lowest = version,
            Ok(_) => {}
            Err(_) if version == lowest => {}
            Err(_) => {
                let all: Vec<String> = versions.iter().map(ToString::to_string).collect();
                return all.join(",").as_str().into();
            }
        }
    }
    lowest.clone()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_union_has_the_lowest_version_or_all_if_they_cannot_be_compared() {
        let lowest = |texts: &[&str]| {
            super::lowest(&texts.iter().map(|text| (*text).into()).collect::<Vec<_>>()).to_string()
        };
        assert_eq!(lowest(&["10", "9", "1000"]), "9");
        assert_eq!(lowest(&["x", "x"]), "x");
        assert_eq!(lowest(&["x", "9"]), "x,9");
        assert_eq!(lowest(&["", "9"]), ",9", "before the first list");
        assert_eq!(lowest(&[]), "");
    }
}
