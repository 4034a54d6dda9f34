package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// moment is what Go reads in a time.
type moment struct {
	Text    string `json:"text"`
	Seconds int64  `json:"seconds"`
	Nanos   int    `json:"nanos"`
}

func times(t topic) {
	t.moments(func(quoted string) (time.Time, []byte, error) {
		var time metav1.Time
		if err := time.UnmarshalJSON([]byte(quoted)); err != nil {
			return time.Time, nil, err
		}
		return time.Time, time.UTC().AppendFormat(nil, "2006-01-02T15:04:05Z07:00"), nil
	})
}

func microTimes(t topic) {
	t.moments(func(quoted string) (time.Time, []byte, error) {
		var time metav1.MicroTime
		if err := time.UnmarshalJSON([]byte(quoted)); err != nil {
			return time.Time, nil, err
		}
		return time.Time, time.UTC().AppendFormat(nil, metav1.RFC3339Micro), nil
	})
}

func (t topic) moments(read func(quoted string) (time.Time, []byte, error)) {
	odd := []string{
		"2026", "-", "11", "T", ":", "00", ".", "123456", "Z", "+01:00", ",", "1", "9999", "02-29", "02", "31", "t", "z", " ",
		"24", "60", "é",
	}
	fractions := []string{"", "", ".", ".1", ".123456", ".123456", ".1234567890123", ",5", ",500000", ".000000", ".123"}
	zones := []string{
		"Z", "Z", "Z", "Z", "+01:00", "-23:59", "+24:00", "+24:60", "+23:60", "+25:00", "", "z", "+0100", "Zx", "-00:00", "+12:61",
	}
	for range t.count {
		year := pick(t, "0000", "0001", "1900", "1969", "1970", "2000", "2024", "2026", "9999", t.digits(4))
		parts := []string{
			year, "-", t.upTo(13), "-", t.upTo(32), "T", t.upTo(25), ":", t.upTo(61), ":", t.upTo(61),
			pick(t, fractions...), pick(t, zones...),
		}
		for i := range parts {
			if t.one(100) {
				parts[i] = pick(t, "", pick(t, odd...), parts[i]+parts[i])
			}
		}
		written := strings.Join(parts, "")
		time, printed, err := read(text(written))
		if err != nil {
			t.record(written, nil)
			continue
		}
		t.record(written, moment{string(printed), time.Unix(), time.Nanosecond()})
	}
}

// upTo is a number below the limit, in two digits.
func (t topic) upTo(limit int) string { return fmt.Sprintf("%02d", t.IntN(limit)) }

func versions(t topic) {
	known := []string{
		"", "0", "1", "9", "10", "007", "12", "99999999999999999999", "99999999999999999998", "18446744073709551615",
		"18446744073709551616", "x", "-1", "+1", "1x", "१", " 1", "1 ", "0x1", "1e3",
	}
	ask := func(left, right string) {
		order, err := resourceversion.CompareResourceVersion(left, right)
		if err != nil {
			t.record(text([]string{left, right}), nil)
			return
		}
		t.record(text([]string{left, right}), order)
	}
	for _, left := range known {
		for _, right := range known {
			ask(left, right)
		}
	}
	for range t.count {
		ask(t.digits(24), t.digits(24))
	}
}

// digits is a number of up to so many digits, or nothing.
func (t topic) digits(most int) string {
	letters := make([]byte, t.IntN(most+1))
	for i := range letters {
		letters[i] = "0123456789"[t.IntN(10)]
	}
	return string(letters)
}

func quantities(t topic) {
	ask := func(text string) {
		quantity, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil {
			t.record(text, nil)
			return
		}
		t.record(text, quantity.String())
	}
	// Here, and below, no exponent is so large that Go would take for ever.
	every([]string{"0", "1", "5", "9", ".", "-", "+", "e", "E", "i", "K", "M", "k", "m", "n", " "}, 4, ask)
	every([]string{"0", "1", "24", "999", "000", ".", "-", "e", "Ki", "Ei", "u", "E"}, 5, func(text string) {
		if exponent := strings.IndexAny(text, "eE"); exponent < 0 || len(text)-exponent < 5 {
			ask(text)
		}
	})
	for range t.count {
		ask(t.quantity())
	}
}

// quantity is as it should be, for the most part.
func (t topic) quantity() string {
	whole := pick(t, "0", "1", "5", "8", "10", "1000", "1023", "1024", "1025", "1048576", "9223372036854775807",
		"9223372036854775808", "4611686018427387904", "999999999999999999", "999999999999999")
	if t.one(2) {
		whole = t.digits(pick(t, 3, 6, 20, 40))
	}
	whole = pick(t, "", "", "", "-", "+") + pick(t, "", "", "", "", "0", "000") + whole
	fraction := ""
	if t.one(2) {
		fraction = "." + pick(t, "", "0", "000", "00000000", "5", "25", "000000001", "0000000001", "999999999999",
			t.digits(4), t.digits(12), t.digits(40)) + pick(t, "", "", "0", "000")
	}
	number := whole + fraction
	suffix := pick(t, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
	switch t.IntN(12) {
	case 0, 1:
		suffix = pick(t, "e", "E") + pick(t, "", "+", "-", "0", "00") + strconv.Itoa(t.IntN(pick(t, 10, 30, 400, 2000)))
	case 2:
		if len(number) <= 18 && fraction == "" { // large exponents are cheap to Go if the digits are few
			suffix = pick(t, "e", "E") + strconv.Itoa(t.IntN(pick(t, 10_000, 2_000_000_000)))
		}
	case 3:
		suffix = pick(t, "K", "ki", "KI", "kk", "Kim", "e", "e+", "-", "+3", "3", "e1.5", "ee1", "mi", "i", "Zi", "Y", " ", "é", "%")
	}
	if text := number + suffix; t.one(8) && !strings.ContainsAny(suffix, "eE") {
		return t.mutated(text, []string{".", "-", "+", "0", "9", "K", "i", "m", " ", "\u00a0", "x"})
	} else if t.one(20) {
		return pick(t, " ", "\t", "\u00a0", "\u0085", "\u200b", "") + text + pick(t, " ", "\n", "\u3000", "")
	} else {
		return text
	}
}
