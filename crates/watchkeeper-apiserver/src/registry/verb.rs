//! Verbs: the operations of a resource.

use std::fmt;

/// A verb of discovery and authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// POST.
    Create,
    /// DELETE of an object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// GET of an object.
    Get,
    /// GET of a collection.
    List,
    /// PATCH.
    Patch,
    /// PUT.
    Update,
    /// GET of a collection with `watch=true`.
    Watch,
}

impl Verb {
    /// Every verb, in the order in which discovery lists them.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    /// Returns the name, such as `deletecollection`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }

    /// Returns the verb with a name such as `deletecollection`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}

/// Prints the name, such as `deletecollection`.
impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of verbs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Verbs(u8);

impl Verbs {
    /// Every verb.
    pub const ALL: Self = Self(u8::MAX);

    /// Returns whether the verb is in the set.
    pub fn contains(self, verb: Verb) -> bool {
        self.0 & (1 << verb as u8) != 0
    }

    /// Returns the verbs in the order of discovery.
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |verb| self.contains(*verb))
    }
}

impl FromIterator<Verb> for Verbs {
    fn from_iter<I: IntoIterator<Item = Verb>>(verbs: I) -> Self {
        Self(verbs.into_iter().fold(0, |set, verb| set | 1 << verb as u8))
    }
}

impl fmt::Debug for Verbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_its_verbs_in_order() {
        let verbs: Verbs = [Verb::Update, Verb::Get].into_iter().collect();
        assert!(verbs.contains(Verb::Get) && !verbs.contains(Verb::Watch));
        assert_eq!(verbs.iter().map(Verb::as_str).collect::<Vec<_>>(), ["get", "update"]);
        assert_eq!(Verbs::ALL.iter().count(), 8);
    }

    #[test]
    fn every_verb_round_trips() {
        for verb in Verb::ALL {
            assert_eq!(Verb::parse(verb.as_str()), Some(verb));
        }
        assert_eq!(Verb::parse("proxy"), None);
    }
}
