//! Managers: who owns which fields of an object, as `metadata.managedFields` has it.
//!
//! - G1: nobody is here who owns nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use watchkeeper_core::Timestamp;

use super::field_set::FieldSet;

/// How many may own fields because they have updated them; the oldest are then counted as one.
const UPDATE_MANAGERS: usize = 10;

/// What these are called together.
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It has applied them.
    Apply,
    /// It has created, updated or patched them.
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

/// Who owns fields. Who applies owns them in one version at a time, who updates in each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// What it calls itself.
    pub name: String,
    /// How it writes.
    pub operation: Operation,
    /// The version of the kind; empty for [`Operation::Apply`].
    api_version: String,
    /// Where it writes; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    /// A manager of fields in a version of a kind. One that says no name is `unknown`.
    pub fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        };
        let name = if name.is_empty() { "unknown" } else { name }.to_owned();
        Self { name, operation, api_version, subresource: subresource.to_owned() }
    }

    /// The version of the kind in which it updates; empty where it applies.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }
}

/// What a manager owns.
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
    /// G1.
    pub(super) owned: BTreeMap<Manager, Owned>,
    /// When they last wrote. It can be known of managers that own nothing now, and unknown of those that do.
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
    /// Reads `metadata.managedFields`; without them there is nobody.
    ///
    /// # Errors
    /// Where an entry lacks what it must have.
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
                let time = text("time").parse().map_err(|_| fail("time is no moment"))?;
                managers.times.insert(manager.clone(), time);
            }
            managers.owned.insert(manager, Owned { fields, api_version: text("apiVersion").to_owned() });
        }
        managers.owned.retain(|_, owned| !owned.fields.is_empty()); // G1
        Ok(managers)
    }

    /// What to write to `metadata.managedFields`; `None` where nobody owns anything.
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

    /// Whether nobody owns anything, as of an object that nobody tracks.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// What a manager owns.
    pub fn get(&self, manager: &Manager) -> Option<&Owned> {
        self.owned.get(manager)
    }

    pub(super) fn set(&mut self, manager: &Manager, owned: Owned) {
        match owned.fields.is_empty() {
            true => self.owned.remove(manager), // G1
            false => self.owned.insert(manager.clone(), owned),
        };
    }

    /// Counts those who have updated longest ago as one, a version each, where there are too many.
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

/// Whether a client asks to forget who owns what: by an empty list, or by one empty entry.
pub fn is_reset(managed_fields: Option<&Value>) -> bool {
    match managed_fields.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.is_empty(),
        _ => false,
    }
}

/// Whether two `managedFields` are equal but for their times, and for the order that hangs on these.
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
