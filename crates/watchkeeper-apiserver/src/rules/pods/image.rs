//! Image references.

/// Returns whether an image has the tag `latest`, or neither tag nor digest. Invalid references are not `latest`.
pub(super) fn is_latest(image: &str) -> bool {
    let (named, digest) = match image.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (image, None),
    };
    let (repository, tag) = match named.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (named, None),
    };
    is_repository(repository)
        && digest.is_none_or(|digest| digest.contains(':'))
        && match tag {
            Some(tag) => tag == "latest",
            None => digest.is_none(),
        }
}

/// `[host[:port]/]path[/path...]`, and the path in lower case.
fn is_repository(name: &str) -> bool {
    let is_host =
        |part: &str| part.contains(['.', ':']) || part == "localhost" || part != part.to_lowercase();
    let path = match name.split_once('/') {
        Some((host, path)) if is_host(host) => path,
        _ => name,
    };
    path.split('/').all(is_component)
}

/// Words of letters and digits, joined by dots, underscores or dashes.
fn is_component(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joints = part.split(is_word).filter(|joint| !joint.is_empty());
    part.starts_with(is_word)
        && part.ends_with(is_word)
        && joints
            .into_iter()
            .all(|joint| matches!(joint, "." | "_" | "__") || joint.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_and_digest_is_the_latest() {
        for image in ["nginx", "nginx:latest", "host:5000/a/b", "Host/a", "a__b", "a--b"] {
            assert!(is_latest(image), "{image}");
        }
        let digest = format!("nginx@sha256:{}", "0".repeat(64));
        for image in ["", "nginx:1", "host:5000/a:2", digest.as_str(), "NGINX", "a..b", "-a", "a:b:latest"] {
            assert!(!is_latest(image), "{image}");
        }
    }
}
