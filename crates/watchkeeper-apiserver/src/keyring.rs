//! Keyring: the keys and tokens of a server.
//!
//! Input: the [storage](KeyringStorage) of the previous server, such as a file in a data directory, or nothing.
//! Output: the [`Listener`](crate::http::Listener), which serves with the certificate authority, and the
//! [`Authenticator`](crate::http::Authenticator), which knows the administrator and the service accounts.
//!
//! Invariants:
//! - `keyring.Y1`: a directory has one keyring, created once: kubeconfigs and tokens stay valid across restarts.
//! - `keyring.Y2`: an unreadable keyring is an error, and is never replaced.
//!
//! The server's own certificate is not stored: the authority issues one at each start, for the current names of the
//! server.
//!
//! **Format.** One line, followed by a JSON document. The line has the file type, the format version, and the SHA-256
//! of everything after it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::http::{Authority, Identity, TokenIssuer, hex, random_token, sha256};
use crate::server::StartError;
use crate::store::disk::SideFile;

/// The file type, at the start of the first line.
const FILE_TYPE: &str = "watchkeeper-keyring";
/// The version of the format.
const VERSION: &str = "1";

/// Stores a keyring across restarts.
pub(crate) trait KeyringStorage {
    /// Returns the stored bytes; `None` if there are none.
    fn read(&self) -> Result<Option<Vec<u8>>, StartError>;

    /// Replaces the stored bytes, atomically and durably.
    fn write(&self, bytes: &[u8]) -> Result<(), StartError>;

    /// Returns the location, for messages.
    fn path(&self) -> PathBuf;
}

impl KeyringStorage for SideFile {
    fn read(&self) -> Result<Option<Vec<u8>>, StartError> {
        Ok(SideFile::read(self)?)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), StartError> {
        Ok(SideFile::write(self, bytes)?)
    }

    fn path(&self) -> PathBuf {
        SideFile::path(self)
    }
}

/// The keys and tokens of a server.
pub(crate) struct Keyring {
    /// Signs the certificates of the server and of clients.
    pub(crate) authority: Authority,
    /// The token of the administrator.
    pub(crate) token: String,
    /// Signs the tokens of service accounts.
    secret: String,
}

/// Omits the secrets.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("authority", &self.authority).finish_non_exhaustive()
    }
}

/// The JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyringDocument {
    certificate: String,
    key: String,
    token: String,
    secret: String,
}

impl Keyring {
    /// Generates a new keyring.
    pub(crate) fn generate() -> Result<Self, StartError> {
        let secret = [random_token()?, random_token()?].concat();
        Ok(Self { authority: Authority::generate()?, token: random_token()?, secret })
    }

    /// Opens the stored keyring, creating it if it does not exist (`keyring.Y1`).
    ///
    /// `has_objects` is whether an earlier server has used the storage: then a missing keyring is logged.
    pub(crate) fn open(storage: &impl KeyringStorage, has_objects: bool) -> Result<Self, StartError> {
        if let Some(kept) = Self::read(storage)? {
            return Ok(kept);
        }
        if has_objects {
            let path = storage.path();
            tracing::warn!(
                "{} was missing and has been created: earlier kubeconfigs and tokens are no longer valid",
                path.display()
            );
        }
        let keyring = Self::generate()?;
        storage.write(keyring.render().as_bytes())?;
        Ok(keyring)
    }

    /// Returns the issuer of service account tokens.
    pub(crate) fn issuer(&self) -> TokenIssuer {
        TokenIssuer::with_secret(&self.secret)
    }

    fn read(storage: &impl KeyringStorage) -> Result<Option<Self>, StartError> {
        let Some(bytes) = storage.read()? else { return Ok(None) };
        let kept = Self::parse(&bytes);
        kept.map(Some).map_err(|what| StartError::Keyring { path: storage.path(), what })
    }

    /// Parses a keyring, or describes what is wrong with it (`keyring.Y2`).
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.is_empty() {
            return Err("the file is empty");
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "not a keyring")?;
        let (line, document) = text.split_once('\n').ok_or("not a keyring")?;
        let mut words = line.split(' ');
        if words.next() != Some(FILE_TYPE) {
            return Err("not a keyring");
        }
        if words.next() != Some(VERSION) {
            return Err("written by another version of this program");
        }
        if words.next() != Some(&hex(&sha256(document.as_bytes()))) || words.next().is_some() {
            return Err("the checksum does not match");
        }
        let written: KeyringDocument = serde_json::from_str(document).map_err(|_| "invalid document")?;
        let KeyringDocument { certificate, key, token, secret } = written;
        if token.is_empty() || secret.is_empty() {
            return Err("invalid document");
        }
        let authority = Authority::restore(&Identity { certificate, key });
        Ok(Self { authority: authority.map_err(|_| "invalid certificate authority")?, token, secret })
    }

    fn render(&self) -> String {
        let Identity { certificate, key } = self.authority.identity();
        let (token, secret) = (self.token.clone(), self.secret.clone());
        let document = serde_json::to_string_pretty(&KeyringDocument { certificate, key, token, secret });
        let document = document.expect("strings can be serialized") + "\n";
        format!("{FILE_TYPE} {VERSION} {}\n{document}", hex(&sha256(document.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_round_trips() {
        let keyring = Keyring::generate().unwrap();
        let read = Keyring::parse(keyring.render().as_bytes()).unwrap();
        assert_eq!(read.render(), keyring.render());
        assert_eq!(read.authority.certificate(), keyring.authority.certificate());
    }

    #[test]
    fn a_truncated_or_changed_keyring_is_rejected() {
        let whole = Keyring::generate().unwrap().render().into_bytes();
        for end in 0..whole.len() {
            assert!(Keyring::parse(&whole[..end]).is_err(), "{end}");
            let mut changed = whole.clone();
            changed[end] ^= 1;
            assert!(Keyring::parse(&changed).is_err(), "{end}");
        }
        assert!(Keyring::parse(&[whole.as_slice(), b" "].concat()).is_err());
    }

    #[test]
    fn an_invalid_keyring_is_described() {
        for (bytes, what) in [
            ("", "the file is empty"),
            ("a", "not a keyring"),
            ("watchkeeper-keyring 2 x\n", "written by another version of this program"),
            ("watchkeeper-keyring 1 x\n", "the checksum does not match"),
        ] {
            assert_eq!(Keyring::parse(bytes.as_bytes()).unwrap_err(), what);
        }
        let sum = |document: &str| {
            format!("{FILE_TYPE} {VERSION} {}\n{document}", hex(&sha256(document.as_bytes())))
        };
        assert_eq!(Keyring::parse(sum("{}").as_bytes()).unwrap_err(), "invalid document");
        let empty = r#"{"certificate": "", "key": "", "token": "", "secret": "s"}"#;
        assert_eq!(Keyring::parse(sum(empty).as_bytes()).unwrap_err(), "invalid document");
        let none = r#"{"certificate": "", "key": "", "token": "t", "secret": "s"}"#;
        assert_eq!(Keyring::parse(sum(none).as_bytes()).unwrap_err(), "invalid certificate authority");
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let keyring = Keyring::generate().unwrap();
        let printed = format!("{keyring:?}");
        assert!(
            !printed.contains(&keyring.token)
                && !printed.contains(&keyring.secret)
                && !printed.contains("PRIVATE")
        );
    }
}
