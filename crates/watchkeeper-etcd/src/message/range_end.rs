//! Range ends: etcd's encoding of "all keys with this prefix".

/// Returns the first key after all keys with a prefix, or `\0` if no such key exists.
///
/// For an empty prefix, the key of the range has to be `\0` too.
pub(crate) fn range_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_first_key_without_it() {
        assert_eq!(range_end(b"/pods/"), b"/pods0");
        assert_eq!(range_end(b"a\xff\xff"), b"b");
        assert_eq!(range_end(b"\xff"), b"\0");
        assert_eq!(range_end(b""), b"\0");
    }
}
