//! Managers: the owners of fields, as in `metadata.managedFields`.
//!
//! Invariants:
//! - `managers.G1`: every manager owns at least one field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use watchkeeper_core::Timestamp;

use super::field_set::FieldSet;

/// The maximum number of managers with `Update`; beyond it the oldest are merged.
const UPDATE_MANAGERS: usize = 10;

/// The name of the merged managers.
const ANCIENT: &str = "ancient-changes";

/// The kind of write by which a manager owns fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By create, update or patch.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// An owner of fields. An applier owns them in one version at a time, an updater in each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// The name that it sends.
    pub name: String,
    /// The kind of write by which it owns them.
    pub operation: Operation,
    /// The version of the kind; empty for [`Operation::Apply`].
    api_version: String,
    /// The subresource that it writes; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    /// Creates a manager of fields in a version of a kind. An empty name becomes `unknown`.
    pub fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        };
        let name = if name.is_empty() { "unknown" } else { name }.to_owned();
        Self { name, operation, api_version, subresource: subresource.to_owned() }
    }

    /// Returns the version in which it updates; empty if it applies.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }
}

/// The fields of a manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The fields.
    pub fields: FieldSet,
    /// The version of the kind that they are fields of.
    pub api_version: String,
}

/// All managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managers {
    /// See `managers.G1`.
    pub(super) owned: BTreeMap<Manager, Owned>,
    /// The time of the last write. May include managers that own nothing now, and lack others.
    pub(super) times: BTreeMap<Manager, Timestamp>,
}

/// Why `managedFields` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {entry} of managedFields: {problem}")]
pub struct ManagersError {
    entry: usize,
    problem: String,
}

impl Managers {
    /// Parses `metadata.managedFields`.
    ///
    /// # Errors
    /// If an entry lacks a required field.
    pub fn read(managed_fields: Option<&Value>) -> Result<Self, ManagersError> {
        let mut managers = Self::default();
        let entries = managed_fields.and_then(Value::as_array).into_iter().flatten();
        for (at, entry) in entries.enumerate() {
            let fail = |problem: &str| ManagersError { entry: at, problem: problem.to_owned() };
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(fail("operation must be `Apply` or `Update`")),
            };
            if text("apiVersion").is_empty() {
                return Err(fail("apiVersion must not be empty"));
            }
            if text("fieldsType") != "FieldsV1" {
                return Err(fail("fieldsType must be FieldsV1"));
            }
            let manager = Manager {
                name: text("manager").to_owned(),
                ..Manager::new("", operation, text("apiVersion"), text("subresource"))
            };
            let fields = FieldSet::parse(&entry["fieldsV1"]).map_err(|error| fail(&error.to_string()))?;
            if !text("time").is_empty() {
                let time = text("time").parse().map_err(|_| fail("time is invalid"))?;
                managers.times.insert(manager.clone(), time);
            }
            managers.owned.insert(manager, Owned { fields, api_version: text("apiVersion").to_owned() });
        }
        managers.owned.retain(|_, owned| !owned.fields.is_empty()); // managers.G1
        Ok(managers)
    }

    /// Formats `metadata.managedFields`; `None` if there are no managers.
    pub fn json(&self) -> Option<Value> {
        if self.owned.is_empty() {
            return None;
        }
        let mut entries: Vec<(&Manager, &Owned, Option<&Timestamp>)> =
            self.owned.iter().map(|(manager, owned)| (manager, owned, self.times.get(manager))).collect();
        entries.sort_by(|(a, a_owned, a_time), (b, b_owned, b_time)| {
            let seconds = |time: &Option<&Timestamp>| time.map_or(0, |time| time.seconds);
            (a.operation, seconds(a_time), &a.name, &a_owned.api_version, &a.subresource).cmp(&(
                b.operation,
                seconds(b_time),
                &b.name,
                &b_owned.api_version,
                &b.subresource,
            ))
        });
        let entries = entries.into_iter().map(|(manager, owned, time)| {
            let mut entry = Map::new();
            let mut set = |name: &str, value: Value| entry.insert(name.to_owned(), value);
            set("manager", manager.name.as_str().into());
            set("operation", manager.operation.as_str().into());
            set("apiVersion", owned.api_version.as_str().into());
            if let Some(time) = time {
                set("time", Timestamp { nanos: 0, ..*time }.to_string().into());
            }
            set("fieldsType", "FieldsV1".into());
            set("fieldsV1", owned.fields.json());
            if !manager.subresource.is_empty() {
                set("subresource", manager.subresource.as_str().into());
            }
            Value::Object(entry)
        });
        Some(Value::Array(entries.collect()))
    }

    /// Returns whether there are no managers: the object is not tracked.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// Returns the fields of a manager.
    pub fn get(&self, manager: &Manager) -> Option<&Owned> {
        self.owned.get(manager)
    }

    pub(super) fn set(&mut self, manager: &Manager, owned: Owned) {
        if owned.fields.is_empty() {
            self.owned.remove(manager); // managers.G1
        } else {
            self.owned.insert(manager.clone(), owned);
        }
    }

    /// Merges the oldest updaters into one per version if there are too many.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<Manager> =
            self.owned.keys().filter(|manager| manager.operation == Operation::Update).cloned().collect();
        let mut count = updaters.len();
        updaters
            .sort_by_key(|manager| (self.times.get(manager).map_or(0, |time| time.seconds), manager.clone()));
        let mut first_of_version: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in updaters {
            if count <= UPDATE_MANAGERS {
                break;
            }
            let Some(owned) = self.owned.get(&manager).cloned() else { continue };
            let Some(first) = first_of_version.get(&owned.api_version) else {
                first_of_version.insert(owned.api_version.clone(), manager);
                continue;
            };
            let bucket = Manager::new(ANCIENT, Operation::Update, &owned.api_version, "");
            let known = self.owned.remove(first).or_else(|| self.owned.remove(&bucket));
            let known = known.map(|known| known.fields).unwrap_or_default();
            self.owned.remove(&manager);
            if let Some(time) = self.times.get(&manager).copied() {
                self.times.insert(bucket.clone(), time);
            }
            self.set(&bucket, Owned { fields: owned.fields.union(&known), ..owned });
            count -= 1;
        }
    }
}

/// Returns whether a client resets the ownership: by an empty list, or by one empty entry.
pub fn is_reset(managed_fields: Option<&Value>) -> bool {
    match managed_fields.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.is_empty(),
        _ => false,
    }
}

/// Returns whether two `managedFields` are equal except for their times, and the order by time.
pub fn same_but_times(a: &Value, b: &Value) -> bool {
    let timeless = |entries: &[Value]| {
        let mut texts: Vec<String> = entries.iter().map(timeless).collect();
        texts.sort_unstable();
        texts
    };
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && timeless(a) == timeless(b),
        _ => a == b,
    }
}

fn timeless(entry: &Value) -> String {
    let mut entry = entry.clone();
    if let Value::Object(fields) = &mut entry {
        fields.remove("time");
    }
    entry.to_string()
}
