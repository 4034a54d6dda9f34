//! Kubeconfig files for clients of the server.
//!
//! Invariants:
//! - `kubeconfig.K1`: a kubeconfig holds secrets; the file is complete and readable only by its owner, or does not
//!   exist.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::certificates::Identity;
use super::random::random_token;
use watchkeeper_wire::yaml;

/// The credentials of a client.
#[derive(Clone)]
pub enum Credentials {
    /// A bearer token.
    Token(String),
    /// A client certificate.
    Certificate(Identity),
}

/// Prints only the kind of credentials.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate(_) => "Certificate",
        })
    }
}

/// The contents of a kubeconfig.
#[derive(Debug, Clone)]
pub struct Kubeconfig {
    /// The URL of the server, such as `https://127.0.0.1:6443`.
    pub server: String,
    /// The certificate authority in PEM; `None` for a server without TLS.
    pub authority: Option<String>,
    /// The credentials of the user.
    pub credentials: Credentials,
    /// The default namespace; `None` for `default`.
    pub namespace: Option<String>,
}

/// The name of the cluster, user and context.
const NAME: &str = "watchkeeper";

impl Kubeconfig {
    /// Returns the text of the file.
    pub fn render(&self) -> String {
        let encoded = |text: &str| STANDARD.encode(text);
        let mut cluster = json!({"server": self.server});
        if let Some(authority) = &self.authority {
            cluster["certificate-authority-data"] = encoded(authority).into();
        }
        let user = match &self.credentials {
            Credentials::Token(token) => json!({"token": token}),
            Credentials::Certificate(identity) => json!({
                "client-certificate-data": encoded(&identity.certificate),
                "client-key-data": encoded(&identity.key),
            }),
        };
        let mut context = json!({"cluster": NAME, "user": NAME});
        if let Some(namespace) = &self.namespace {
            context["namespace"] = namespace.as_str().into();
        }
        yaml::write(&json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": NAME, "cluster": cluster}],
            "users": [{"name": NAME, "user": user}],
            "contexts": [{"name": NAME, "context": context}],
            "current-context": NAME,
        }))
    }

    /// Writes the file, replacing an existing one (`kubeconfig.K1`). Blocks until its contents are on disk.
    ///
    /// # Errors
    /// If the directory does not exist or is not writable. An existing file is then unchanged.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let draft = draft_beside(path)?;
        let written = create_private(&draft).and_then(|mut file| {
            file.write_all(self.render().as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&draft); // it may not exist
        }
        written
    }
}

fn draft_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}", &random_token().map_err(io::Error::other)?[..16]));
    Ok(path.with_file_name(draft))
}

fn create_private(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn config(credentials: Credentials) -> Kubeconfig {
        Kubeconfig {
            server: "https://127.0.0.1:6443".into(),
            authority: Some("CA".into()),
            credentials,
            namespace: Some("web".into()),
        }
    }

    #[test]
    fn a_kubeconfig_has_the_server_and_the_credentials() {
        let text = config(Credentials::Token("0x12".into())).render();
        let read = Value::from(yaml::read(&text).unwrap().document);
        assert_eq!(read["clusters"][0]["cluster"]["server"], "https://127.0.0.1:6443");
        assert_eq!(read["clusters"][0]["cluster"]["certificate-authority-data"], "Q0E=");
        assert_eq!(read["users"][0]["user"]["token"], "0x12"); // and not eighteen
        assert_eq!(read["contexts"][0]["context"]["namespace"], "web");
        let identity = Identity { certificate: "C".into(), key: "K".into() };
        let read =
            Value::from(yaml::read(&config(Credentials::Certificate(identity)).render()).unwrap().document);
        assert_eq!(read["users"][0]["user"]["client-key-data"], "Sw==");
    }

    #[cfg(unix)]
    #[test]
    fn a_kubeconfig_file_is_private_and_leaves_no_draft() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        fs::write(&path, "old, and readable by all users").unwrap();
        let config = config(Credentials::Token("t".into()));
        config.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), config.render());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(config.write(&directory.path().join("missing/kubeconfig")).is_err());
        let a_directory = directory.path().join("taken");
        fs::create_dir(&a_directory).unwrap();
        assert!(config.write(&a_directory).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn debug_output_has_no_secrets() {
        assert!(!format!("{:?}", config(Credentials::Token("secret".into()))).contains("secret"));
    }
}
