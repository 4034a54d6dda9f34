//! Options of writes: create, update and patch.

use http::HeaderMap;
use http::header::USER_AGENT;
use watchkeeper_core::{CauseType, Quoted, Status, StatusCause, is_printable};

use super::cause::{dry_run_fault, fault, forbidden, invalid, not_supported};
use crate::http::negotiate::PatchType;
use crate::http::query::Query;

/// Maximum length of a field manager's name in bytes.
pub const FIELD_MANAGER_BYTES: usize = 128;

/// The treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// The request is rejected.
    Strict,
}

/// The options of a create, an update or a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Whether to skip storing the result.
    pub dry_run: bool,
    /// The field manager; empty if it is derived from the user agent.
    pub field_manager: String,
    /// The treatment of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes over fields of other managers.
    pub force: bool,
}

impl WriteOptions {
    /// Reads the options of a create.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid.
    pub fn of_create(query: &Query) -> Result<Self, Status> {
        Self::read(query, "CreateOptions", Vec::new())
    }

    /// Reads the options of an update.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid.
    pub fn of_update(query: &Query) -> Result<Self, Status> {
        Self::read(query, "UpdateOptions", Vec::new())
    }

    /// Derives a missing field manager from the beginning of the `User-Agent`.
    #[must_use]
    pub fn by_agent(mut self, headers: &HeaderMap) -> Self {
        if self.field_manager.is_empty()
            && let Some(agent) = headers.get(USER_AGENT)
        {
            let agent = String::from_utf8_lossy(agent.as_bytes());
            let name = agent.split('/').next().unwrap_or_default();
            for character in name.chars().filter(|character| is_printable(*character)) {
                if self.field_manager.len() + character.len_utf8() > FIELD_MANAGER_BYTES {
                    break;
                }
                self.field_manager.push(character);
            }
        }
        self
    }

    /// Reads the options of a patch.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid: an apply requires a field manager, and only an apply allows force.
    pub fn of_patch(query: &Query, patch: PatchType) -> Result<Self, Status> {
        let mut faults = Vec::new();
        match patch {
            PatchType::Apply if query.text("fieldManager").is_empty() => faults.push(fault(
                CauseType::FieldValueRequired,
                "fieldManager",
                "Required value: is required for apply patch",
            )),
            PatchType::Apply => {}
            _ if query.first("force").is_some() => {
                faults.push(forbidden("force", "may not be specified for non-apply patch"));
            }
            _ => {}
        }
        Self::read(query, "PatchOptions", faults)
    }

    fn read(query: &Query, kind: &str, mut faults: Vec<StatusCause>) -> Result<Self, Status> {
        let field_manager = query.text("fieldManager");
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        let field_validation = match query.text("fieldValidation") {
            "" | "Warn" => Some(FieldValidation::Warn),
            "Ignore" => Some(FieldValidation::Ignore),
            "Strict" => Some(FieldValidation::Strict),
            _ => None,
        };
        faults.extend(field_manager_faults(field_manager));
        faults.extend(dry_run_fault(&dry_run));
        if field_validation.is_none() {
            let value = Quoted(query.text("fieldValidation")).to_string();
            faults.push(not_supported("fieldValidation", &value, &["", "Ignore", "Strict", "Warn"]));
        }
        invalid(kind, faults)?;
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager: field_manager.to_owned(),
            field_validation: field_validation.unwrap_or_default(),
            force: query.switch("force").unwrap_or_default(),
        })
    }
}

fn field_manager_faults(name: &str) -> Vec<StatusCause> {
    const FIELD: &str = "fieldManager";
    let mut faults = Vec::new();
    if name.len() > FIELD_MANAGER_BYTES {
        let message = format!("Too long: may not be more than {FIELD_MANAGER_BYTES} bytes");
        faults.push(fault(CauseType::FieldValueTooLong, FIELD, &message));
    }
    // One fault per character, up to the number that fits into a valid name.
    let unprintable = name.char_indices().filter(|(_, c)| !is_printable(*c)).take(FIELD_MANAGER_BYTES);
    faults.extend(unprintable.map(|(position, c)| {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
        let message = format!("Invalid value: {}: {detail}", Quoted(name));
        fault(CauseType::FieldValueInvalid, FIELD, &message)
    }));
    faults
}
