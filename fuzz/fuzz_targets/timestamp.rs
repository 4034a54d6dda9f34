//! Moments: text to seconds and back, and any count of seconds to text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::Timestamp;

fuzz_target!(|data: &[u8]| {
    if let Some(seconds) = data.first_chunk() {
        let moment = Timestamp { seconds: i64::from_le_bytes(*seconds), nanos: 999_999_999 };
        let texts = [moment.to_string(), moment.display_micro().to_string()];
        assert!(texts.iter().all(|text| text.len() < 48), "decode prints into as many bytes: {texts:?}");
    }
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(moment) = text.parse::<Timestamp>() {
        let printed = moment.to_string();
        // An offset may lead out of the years that have four digits.
        if printed.len() == "2006-01-02T15:04:05Z".len() {
            assert_eq!(printed.parse(), Ok(Timestamp { nanos: 0, ..moment }));
        }
    }
    if let Ok(moment) = Timestamp::parse_micro(text) {
        assert_eq!(text.parse(), Ok(moment));
        let printed = moment.display_micro().to_string();
        if printed.len() == "2006-01-02T15:04:05.000000Z".len() {
            assert_eq!(Timestamp::parse_micro(&printed), Ok(moment));
        }
    }
});
