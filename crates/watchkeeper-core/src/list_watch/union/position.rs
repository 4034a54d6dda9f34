//! Positions: how far each part of a union has got.

use crate::{ListAt, ResourceVersion, WatchFrom};

/// How far each part has got (U1).
#[derive(Debug)]
pub(super) struct Positions {
    /// Empty before the first list.
    parts: Vec<ResourceVersion>,
    /// A page of the last list had expired: the next list does without pages.
    pub(super) page_expired: bool,
}

impl Positions {
    pub(super) fn new(parts: usize) -> Self {
        Self { parts: vec![ResourceVersion::default(); parts], page_expired: false }
    }

    /// All parts are where a list, or initial events, have left them.
    pub(super) fn listed(&mut self, parts: Vec<ResourceVersion>) {
        self.parts = parts;
    }

    pub(super) fn reach(&mut self, part: usize, version: &ResourceVersion) {
        if !version.is_empty() {
            self.parts[part] = version.clone();
        }
    }

    /// Which state of a part is listed, where this one of the whole is asked for.
    pub(super) fn list_at(&self, part: usize, at: &ListAt) -> ListAt {
        let own = || self.parts[part].clone();
        match at {
            ListAt::MostRecent | ListAt::Any | ListAt::Page(_) => at.clone(),
            ListAt::NotOlderThan(_) => ListAt::NotOlderThan(own()),
            ListAt::Exact(_) => ListAt::Exact(own()),
            ListAt::Unqualified(_) => ListAt::Unqualified(own()),
        }
    }

    /// The whole is watched from here: so are the parts of which nothing is known yet.
    pub(super) fn begin(&mut self, from: &WatchFrom) {
        if let WatchFrom::After(version) = from
            && *version != ResourceVersion::ANY
        {
            let unknown = self.parts.iter_mut().filter(|own| own.is_empty());
            unknown.for_each(|own| *own = version.clone());
        }
    }

    /// Where the watch of a part begins, where the whole begins here.
    pub(super) fn watch_from(&self, part: usize, from: &WatchFrom) -> WatchFrom {
        match from {
            WatchFrom::After(_) => WatchFrom::After(self.parts[part].clone()),
            WatchFrom::InitialEvents { not_older_than } => {
                let own = not_older_than.as_ref().map(|_| self.parts[part].clone());
                WatchFrom::InitialEvents { not_older_than: own.filter(|own| !own.is_empty()) }
            }
        }
    }

    /// The version of the whole (U2).
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
    fn the_lowest_version_is_that_of_the_whole_and_where_there_is_none_all_are() {
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
