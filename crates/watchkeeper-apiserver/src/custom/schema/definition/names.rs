//! The names of a custom kind.

use watchkeeper_core::Quoted;

use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::syntax::label_1035;

/// Checks the syntax of the names that are set.
pub(super) fn check(names: &Field<'_>, faults: &mut Faults) {
    for name in ["plural", "singular"] {
        let field = names.child(name);
        let why = label_1035(field.text());
        if !field.is_empty() && !why.is_empty() {
            faults.invalid(&field, &why.join(","));
        }
    }
    for name in ["kind", "listKind"] {
        let field = names.child(name);
        let why = label_1035(&field.text().to_lowercase());
        if !field.is_empty() && !why.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", why.join(","));
            faults.invalid(&field, &why);
        }
    }
    words(&names.child("shortNames"), faults);
    let (kind, list) = (names.child("kind"), names.child("listKind"));
    if !kind.is_empty() && kind.text() == list.text() {
        faults.invalid(&list, "kind and listKind may not be the same");
    }
    words(&names.child("categories"), faults);
}

fn words(list: &Field<'_>, faults: &mut Faults) {
    for item in list.items() {
        let why = label_1035(item.text());
        if !why.is_empty() {
            faults.invalid_value(&item, Quoted(item.text()), &why.join(","));
        }
    }
}
