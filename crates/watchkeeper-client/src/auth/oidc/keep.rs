//! Persists refreshed tokens in the kubeconfig they came from.
//!
//! Other entries are preserved; comments and field order are lost, as with kubectl. These functions block.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use watchkeeper_wire::yaml;

use crate::Secret;
use crate::kubeconfig::Kubeconfig;

/// Maximum wait for another process that holds the lock file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between attempts to take the lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns the settings of a user's auth provider. Takes the lock, so that it fails when `write` would.
pub(super) fn read(file: &Path, user: &str) -> Result<BTreeMap<String, Secret>, String> {
    let _lock = Lock::take(file)?;
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let config = Kubeconfig::parse(&text).map_err(|why| format!("{}: {why}", file.display()));
    let provider = config?.users.remove(user).and_then(|user| user.auth_provider);
    let settings = provider.map(|provider| provider.config);
    settings.ok_or_else(|| format!("{}: {}", file.display(), missing_provider(user)))
}

/// Updates settings of a user's auth provider. The file is replaced atomically.
pub(super) fn write(file: &Path, user: &str, settings: &[(&str, Secret)]) -> Result<(), String> {
    let _lock = Lock::take(file)?;
    let broken = |error: io::Error| format!("{}: {error}", file.display());
    let file = &fs::canonicalize(file).map_err(broken)?; // preserves a symbolic link
    let text = fs::read_to_string(file).map_err(broken)?;
    let text = update(&text, user, settings).map_err(|why| format!("{}: {why}", file.display()))?;
    replace(file, &text).map_err(broken)
}

fn update(text: &str, user: &str, settings: &[(&str, Secret)]) -> Result<String, String> {
    let mut config = Value::from(yaml::read(text)?.document);
    let is_user = |entry: &&mut Value| match entry.get("name") {
        Some(Value::String(name)) => name == user,
        Some(Value::Number(name)) => user == name.to_string(),
        _ => false,
    };
    let users = config.get_mut("users").and_then(Value::as_array_mut);
    let entry = users.into_iter().flatten().find(is_user);
    let provider = entry.and_then(|entry| entry.pointer_mut("/user/auth-provider"));
    let provider = provider.and_then(Value::as_object_mut);
    let provider = provider.ok_or_else(|| missing_provider(user))?;
    let config_of_provider = provider.entry("config").or_insert_with(|| Value::Object(Default::default()));
    if !config_of_provider.is_object() {
        *config_of_provider = Value::Object(Default::default());
    }
    for (name, value) in settings {
        config_of_provider[*name] = value.reveal().into();
    }
    Ok(yaml::write(&config))
}

fn missing_provider(user: &str) -> String {
    format!("user {user:?} no longer has an auth-provider")
}

/// Replaces a file atomically, with mode 0600.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let temporary = beside(file, ".tmp");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {} // left by a crash: we hold the lock
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|mut new: File| {
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&temporary, file)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The lock file, `<file>.lock`, which kubectl honours too.
struct Lock(PathBuf);

impl Lock {
    fn take(file: &Path) -> Result<Self, String> {
        let lock = beside(file, ".lock");
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(_) => return Ok(Self(lock)),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(format!("{}: {error}", lock.display()));
                }
                Err(_) if Instant::now() >= deadline => {
                    return Err(format!(
                        "{} exists: another process is changing the file, or has crashed and left it behind",
                        lock.display()
                    ));
                }
                Err(_) => std::thread::sleep(LOCK_POLL_INTERVAL),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# mine
apiVersion: v1
kind: Config
preferences: {colors: true}
users:
- {name: 7, user: {token: t}}
- name: me
  user: {auth-provider: {name: oidc, config: {client-id: c, id-token: old}}}
clusters:
- name: c
  cluster: {server: 'https://a', certificate-authority-data: Y2E=}
";

    #[test]
    fn other_entries_are_preserved() {
        let after =
            update(BEFORE, "me", &[("id-token", "new".into()), ("refresh-token", "r".into())]).unwrap();
        let mut expected = Value::from(yaml::read(BEFORE).unwrap().document);
        let config = expected.pointer_mut("/users/1/user/auth-provider/config").unwrap();
        (config["id-token"], config["refresh-token"]) = ("new".into(), "r".into());
        assert_eq!(Value::from(yaml::read(&after).unwrap().document), expected);
        for user in ["7", "you"] {
            let error = update(BEFORE, user, &[]).unwrap_err();
            assert_eq!(error, format!("user {user:?} no longer has an auth-provider"));
        }
    }

    #[test]
    fn the_file_is_replaced_atomically_with_mode_0600() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, BEFORE).unwrap();
        fs::write(beside(&file, ".tmp"), "left by a crash").unwrap();
        write(&file, "me", &[("id-token", "new".into())]).unwrap();
        assert_eq!(read(&file, "me").unwrap()["id-token"].reveal(), "new");
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["config"], "neither a lock nor a temporary file is left");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            let link = directory.path().join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            write(&link, "me", &[("id-token", "newer".into())]).unwrap();
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(read(&file, "me").unwrap()["id-token"].reveal(), "newer");
        }
    }

    #[test]
    fn a_locked_file_is_left_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, BEFORE).unwrap();
        let theirs = Lock::take(&file).unwrap();
        let error = write(&file, "me", &[("id-token", "new".into())]).unwrap_err();
        assert!(error.contains("config.lock exists"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE);
        let waiting = std::thread::spawn({
            let file = file.clone();
            move || write(&file, "me", &[("id-token", "new".into())])
        });
        drop(theirs);
        waiting.join().unwrap().unwrap();
        assert_eq!(read(&file, "me").unwrap()["id-token"].reveal(), "new");
    }
}
