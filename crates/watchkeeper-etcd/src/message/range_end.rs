//! Range ends: how etcd says "all keys with this prefix".

/// The first key after all those that begin so. etcd says `\0` where there is none.
///
/// An empty prefix is every key, and those begin with `\0`: say so of the key, too.
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
