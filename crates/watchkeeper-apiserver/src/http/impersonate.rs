//! Impersonation: requests on behalf of another user.
//!
//! Input: the headers `Impersonate-User`, `-Group`, `-Uid` and `-Extra-...` of an authenticated user.
//! Output: the [`Handler`](crate::http::Handler), which sees only the impersonated [`User`].
//!
//! As in kube-apiserver, the authenticated user needs the verb `impersonate` on the user or service account, and on each
//! group, UID and extra value in the headers.

use http::HeaderMap;
use watchkeeper_core::Status;

use super::authenticate::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User};
use super::authorize::{AccessTarget, Attributes, Authorizer, ResourceAttributes, authorize};
use super::query::{Plus, decode};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Removes the impersonation headers, and returns the user of the request: the one they name, or else `actor`.
///
/// # Errors
/// Returns 400 if there are groups, a UID or extras without a user, and 403 if `actor` may not impersonate.
pub(super) async fn impersonate(
    authorizer: &dyn Authorizer,
    actor: User,
    headers: &mut HeaderMap,
) -> Result<User, Status> {
    let Some(requested) = take_user(headers)? else { return Ok(actor) };
    for target in targets(&requested) {
        let target = AccessTarget::Resource(target);
        authorize(authorizer, Attributes { user: &actor, verb: "impersonate", target }).await?;
    }
    Ok(complete(requested))
}

/// Returns the resources that `impersonate` is needed on.
fn targets(requested: &User) -> Vec<ResourceAttributes<'_>> {
    let account = requested.name.strip_prefix(SERVICE_ACCOUNT).and_then(|name| name.split_once(':'));
    let core = |resource, name| ResourceAttributes { version: "v1", resource, name, ..Default::default() };
    let authentication = |resource, subresource, name| ResourceAttributes {
        group: "authentication.k8s.io",
        version: "v1",
        resource,
        subresource,
        name,
        ..Default::default()
    };
    let mut targets = vec![match account {
        Some((namespace, name)) => ResourceAttributes { namespace, ..core("serviceaccounts", name) },
        None => core("users", requested.name.as_str()),
    }];
    targets.extend(requested.groups.iter().map(|group| core("groups", group.as_str())));
    for (key, values) in &requested.extra {
        targets.extend(values.iter().map(|value| authentication("userextras", key.as_str(), value.as_str())));
    }
    if !requested.uid.is_empty() {
        targets.push(authentication("uids", "", requested.uid.as_str()));
    }
    targets
}

/// Removes the impersonation headers and returns the user they name, or `None` if there are none.
///
/// # Errors
/// Returns 400 if there are groups, a UID or extras without a user.
fn take_user(headers: &mut HeaderMap) -> Result<Option<User>, Status> {
    let mut user = User::default();
    let texts = |values: http::header::GetAll<'_, _>| -> Vec<String> {
        values
            .iter()
            .map(|value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    user.name = texts(headers.get_all(USER)).into_iter().next().unwrap_or_default();
    user.groups = texts(headers.get_all(GROUP));
    user.uid = texts(headers.get_all(UID)).into_iter().next().unwrap_or_default();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = decode(key, Plus::IsPlus).unwrap_or_else(|| key.to_owned());
            user.extra.insert(key, texts(headers.get_all(name)));
        }
    }
    for name in [USER, GROUP, UID] {
        headers.remove(name);
    }
    let extras: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with(EXTRA)).cloned().collect();
    for name in extras {
        headers.remove(name);
    }
    match user.name.as_str() {
        "" if user == User::default() => Ok(None),
        "" => Err(Status::bad_request("requested groups, a uid or extras without impersonating a user")),
        _ => Ok(Some(user)),
    }
}

/// Adds the groups that every user is in.
fn complete(mut user: User) -> User {
    if user.groups.is_empty()
        && let Some((namespace, _)) =
            user.name.strip_prefix(SERVICE_ACCOUNT).and_then(|name| name.split_once(':'))
    {
        user.groups =
            vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !user.is_in(group) && !user.is_in(UNAUTHENTICATED) {
        user.groups.push(group.to_owned());
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name, groups and extras, or the status code.
    fn meant(headers: &[(&'static str, &'static str)]) -> String {
        let mut sent = HeaderMap::new();
        sent.insert("accept", "*/*".parse().unwrap());
        for (name, value) in headers {
            sent.append(*name, value.parse().unwrap());
        }
        let shown = match take_user(&mut sent).map(|user| user.map(complete)) {
            Ok(Some(user)) => {
                format!("{} [{}] {:?} {:?}", user.name, user.groups.join(" "), user.uid, user.extra)
            }
            Ok(None) => "nobody else".to_owned(),
            Err(status) => status.code.to_string(),
        };
        assert_eq!(sent.len(), 1, "{sent:?}");
        shown
    }

    #[test]
    fn an_impersonated_user_gets_the_groups_of_every_user() {
        assert_eq!(meant(&[]), "nobody else");
        assert_eq!(meant(&[(USER, "ann")]), "ann [system:authenticated] \"\" {}");
        assert_eq!(
            meant(&[(USER, "ann"), (GROUP, "ops"), (GROUP, "dev"), (UID, "7")]),
            "ann [ops dev system:authenticated] \"7\" {}"
        );
        assert_eq!(
            meant(&[(USER, "system:serviceaccount:web:robot")]),
            "system:serviceaccount:web:robot [system:serviceaccounts system:serviceaccounts:web \
             system:authenticated] \"\" {}"
        );
        assert_eq!(meant(&[(USER, ANONYMOUS)]), "system:anonymous [system:unauthenticated] \"\" {}");
    }

    #[test]
    fn impersonation_is_authorized_for_the_user_and_every_attribute_in_the_headers() {
        let user = User {
            uid: "7".to_owned(),
            extra: [("team".to_owned(), vec!["one".to_owned(), "two".to_owned()])].into(),
            ..User::new("system:serviceaccount:web:robot", ["ops"])
        };
        let shown: Vec<String> = targets(&user)
            .iter()
            .map(|it| format!("{} {} {} {} {}", it.group, it.resource, it.subresource, it.namespace, it.name))
            .collect();
        assert_eq!(
            shown,
            [
                " serviceaccounts  web robot",
                " groups   ops",
                "authentication.k8s.io userextras team  one",
                "authentication.k8s.io userextras team  two",
                "authentication.k8s.io uids   7",
            ]
        );
        assert_eq!(targets(&User::new("ann", [""; 0]))[0].resource, "users");
    }

    #[test]
    fn extras_are_unescaped_and_need_a_user() {
        assert_eq!(
            meant(&[(USER, "ann"), ("impersonate-extra-example.com%2fteam", "one")]),
            "ann [system:authenticated] \"\" {\"example.com/team\": [\"one\"]}"
        );
        assert_eq!(meant(&[(GROUP, "ops")]), "400");
    }
}
