//! Names: how they are made up, and which are better avoided.

use crate::http::random_token;
use crate::registry::Resource;
use crate::validate::form;
use watchkeeper_core::Status;

use super::refusal::no_randomness;

/// Letters and digits that do not make words, nor look like each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const RANDOM_CHARACTERS: usize = 5;
/// With what is random, a name is no longer than a label may be.
const PREFIX_BYTES: usize = 63 - RANDOM_CHARACTERS;

/// A name that begins with a prefix.
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

/// What is told to whoever gives a pod, or what makes pods, a name that is no name for a host.
pub fn name_warning(resource: &Resource, name: &str) -> Option<String> {
    let used = resource.rules().name_use()?;
    let faults = form::label(name);
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
