package main

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

var (
	int32s = []int32{0, 0, 1, -1, 80, 127, 128, 16383, 16384, 65535, math.MaxInt32, math.MinInt32}
	int64s = []int64{0, 0, 1, -1, 255, 1 << 31, -1 << 31, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64}
	floats = []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, 100, 1e20, 1e21, 123456789.125, 1e-6, 1e-7,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxInt64, math.Pi,
	}
	quantities = []string{
		"0", "1", "-1", "10", "100", "1000", "1500", "1024", "4096", "1.5", "0.5", "-0.25", "2.50",
		"1n", "100n", "1u", "1500u", "1m", "100m", "1500m", "1000m", "1k", "1.5k", "1M", "1G", "1T", "1P", "1E",
		"1Ki", "1.5Ki", "0.5Ki", "1000Ki", "1024Ki", "1Mi", "128Mi", "1Gi", "1.5Gi", "0.1Gi", "1Ti", "1Pi", "1Ei", "-1Gi",
		"1e3", "1E3", "1e0", "12e6", "12e-3", "-5e2", "1e-9", "1e-10", "100e-1", "1.5e3", "123e12",
		"0Ki", "0m", "0e3", "-0", "+1", "+1.0", "1.", ".5", "007", "1.000", "0.0001", "0.000000001", "0.0000000001",
		"1.0000000001", "1.1111111111", "3.14159265358979", "999999999n", "1000000000n", "1000001u",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "9223372036854775807Ki",
		"123456789012345678901234567890", "8Ei", "16Ei", "999E", "1000E", "0.9223372036854775807",
		"9223372036854775.807", "92233720368547758.07k", "1e18", "1e19", "1e24", "12345678901234567890e-9",
	}
	texts = []string{
		"", "", "a", "default", "app.kubernetes.io/name", "nginx:1.27", "with space", " lead", "trail ",
		`say "hi"`, `back\slash`, "a/b", "<b>&amp;</b>", "tab\tline\nreturn\r", "\x00\x01\x1f\x7f", "\b\f\v\x1b",
		"\u2028\u2029", "\u00e9", "e\u0301", "\u00a0\u200b\ufeff", "日本語", "😀👩‍👩‍👧", "\U0010ffff", "\ufffd\ufffe",
		"null", "true", "1", "1e3", "{}", "[]", "2026-01-02T03:04:05Z", "-", "\u0080\u07ff\u0800\uffff",
	}
	times = []time.Time{
		{},
		time.Unix(0, 0),
		time.Unix(-1, 0),
		time.Unix(-1, 999_999_000),
		time.Unix(1, 1000),
		time.Unix(1_767_323_045, 123_456_000),
		time.Unix(1_767_323_045, 500_000_000),
		time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
		time.Date(1600, 2, 29, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2000, 2, 29, 12, 0, 0, 0, time.UTC),
		time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	durations = []time.Duration{
		0, 1, -1, time.Microsecond, 1500 * time.Microsecond, time.Second, -time.Second, 90 * time.Second,
		time.Hour, 36*time.Hour + 1, math.MaxInt64, math.MinInt64,
	}
	numbers = []string{
		"0", "-0", "1", "-1", "1.0", "0.5", "1e3", "1E+3", "-1.25e-7", "9007199254740993", "9223372036854775807",
		"18446744073709551615", "123456789012345678901234567890", "1e400",
	}
)

// pick returns a random element.
func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func (f filler) text() string {
	switch f.IntN(24) {
	case 0, 1, 2:
		return pick(f.Rand, texts) + pick(f.Rand, texts)
	case 3, 4, 5:
		return "name-" + strconv.Itoa(f.IntN(1000))
	case 6: // around the length at which a varint needs a second byte
		return strings.Repeat("x", 120+f.IntN(16))
	}
	return pick(f.Rand, texts)
}

func (f filler) time() time.Time {
	if f.IntN(3) == 0 {
		return time.Unix(f.Int64N(4_000_000_000)-1_000_000_000, f.Int64N(1_000_000)*1000)
	}
	return pick(f.Rand, times)
}

func (f filler) duration() time.Duration { return pick(f.Rand, durations) }

// randomJSON returns random JSON for a field that the server does not interpret:
// an object, or any value.
func (f filler) randomJSON(object bool) string { return f.jsonValue(0, object) }

func (f filler) jsonValue(depth int, object bool) string {
	kind := f.IntN(7)
	if object {
		kind = 0
	} else if depth > 3 {
		kind = 2 + f.IntN(5)
	}
	switch kind {
	case 0:
		return f.jsonItems("{", "}", func() string {
			return quote(f.Rand, f.text()) + f.space() + ":" + f.space() + f.jsonValue(depth+1, false)
		})
	case 1:
		return f.jsonItems("[", "]", func() string { return f.jsonValue(depth+1, false) })
	case 2:
		return pick(f.Rand, numbers)
	case 3, 4:
		return quote(f.Rand, f.text())
	case 5:
		return pick(f.Rand, []string{"true", "false"})
	}
	return "null"
}

func (f filler) jsonItems(open, end string, item func() string) string {
	var items []string
	for range f.IntN(4) {
		items = append(items, f.space()+item()+f.space())
	}
	return open + strings.Join(items, ",") + end
}

// space returns random whitespace, or none.
func (f filler) space() string {
	return pick(f.Rand, []string{"", "", "", "", " ", "\n\t", "  "})
}
