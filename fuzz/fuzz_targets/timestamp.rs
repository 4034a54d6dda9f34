//! Timestamps: parsed text prints and parses to the same time; any number of seconds can be printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::Timestamp;

fuzz_target!(|data: &[u8]| {
    if let Some(seconds) = data.first_chunk() {
        let time = Timestamp { seconds: i64::from_le_bytes(*seconds), nanos: 999_999_999 };
        let texts = [time.to_string(), time.display_micro().to_string()];
        assert!(texts.iter().all(|text| text.len() < 48), "longer than the buffer of decode: {texts:?}");
    }
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(time) = text.parse::<Timestamp>() {
        let printed = time.to_string();
        // With an offset, the year in UTC can have more or fewer than four digits.
        if printed.len() == "2006-01-02T15:04:05Z".len() {
            assert_eq!(printed.parse(), Ok(Timestamp { nanos: 0, ..time }));
        }
    }
    if let Ok(time) = Timestamp::parse_micro(text) {
        assert_eq!(text.parse(), Ok(time));
        let printed = time.display_micro().to_string();
        if printed.len() == "2006-01-02T15:04:05.000000Z".len() {
            assert_eq!(Timestamp::parse_micro(&printed), Ok(time));
        }
    }
});
