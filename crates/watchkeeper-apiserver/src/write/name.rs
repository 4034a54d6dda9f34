//! Names: generation, and warnings.

use crate::http::random_token;
use crate::registry::Resource;
use crate::validate::syntax;
use watchkeeper_core::Status;

use super::refusal::no_randomness;

/// Characters that neither form words nor resemble each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const RANDOM_CHARACTERS: usize = 5;
/// With the random suffix, a name is at most as long as a label.
const PREFIX_BYTES: usize = 63 - RANDOM_CHARACTERS;

/// Generates a name with a prefix.
pub(super) fn generate(prefix: &str) -> Result<String, Status> {
    let token = random_token().map_err(no_randomness)?;
    let end = (0..=PREFIX_BYTES.min(prefix.len())).rev().find(|at| prefix.is_char_boundary(*at));
    let mut name = prefix[..end.unwrap_or_default()].to_owned();
    // Four hexadecimal digits for each character: the bias is below a thousandth.
    for digits in token.as_bytes().chunks(4).take(RANDOM_CHARACTERS) {
        let number =
            digits.iter().fold(0, |sum, digit| sum * 16 + char::from(*digit).to_digit(16).unwrap_or(0));
        name.push(char::from(ALPHABET[number as usize % ALPHABET.len()]));
    }
    Ok(name)
}

/// Returns a warning if the name is not a DNS label and the kind uses it as a host name.
pub fn name_warning(resource: &Resource, name: &str) -> Option<String> {
    let used = resource.rules().name_use()?;
    let faults = syntax::label(name);
    (!faults.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            faults.join(" ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_is_the_prefix_and_five_characters_and_fits_a_label() {
        let name = generate("web-").unwrap();
        let random = name.strip_prefix("web-").unwrap();
        assert!(random.len() == 5 && random.bytes().all(|byte| ALPHABET.contains(&byte)), "{name}");
        assert_eq!(generate(&"a".repeat(300)).unwrap().len(), 63);
        assert!(generate(&"ä".repeat(300)).unwrap().len() <= 63);
    }
}
