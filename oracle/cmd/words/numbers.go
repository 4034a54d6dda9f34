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

// parsedTime is the result for a time.
type parsedTime struct {
	Text    string `json:"text"`
	Seconds int64  `json:"seconds"`
	Nanos   int    `json:"nanos"`
}

func times(g generator) {
	g.times(func(quoted string) (time.Time, []byte, error) {
		var time metav1.Time
		if err := time.UnmarshalJSON([]byte(quoted)); err != nil {
			return time.Time, nil, err
		}
		return time.Time, time.UTC().AppendFormat(nil, "2006-01-02T15:04:05Z07:00"), nil
	})
}

func microTimes(g generator) {
	g.times(func(quoted string) (time.Time, []byte, error) {
		var time metav1.MicroTime
		if err := time.UnmarshalJSON([]byte(quoted)); err != nil {
			return time.Time, nil, err
		}
		return time.Time, time.UTC().AppendFormat(nil, metav1.RFC3339Micro), nil
	})
}

// times generates random times, and parses them with the given function, which
// returns the time and its canonical text.
func (g generator) times(parse func(quoted string) (time.Time, []byte, error)) {
	oddParts := []string{
		"2026", "-", "11", "T", ":", "00", ".", "123456", "Z", "+01:00", ",", "1", "9999", "02-29", "02", "31", "t", "z", " ",
		"24", "60", "é",
	}
	fractions := []string{"", "", ".", ".1", ".123456", ".123456", ".1234567890123", ",5", ",500000", ".000000", ".123"}
	zones := []string{
		"Z", "Z", "Z", "Z", "+01:00", "-23:59", "+24:00", "+24:60", "+23:60", "+25:00", "", "z", "+0100", "Zx", "-00:00", "+12:61",
	}
	for range g.count {
		year := pick(g, "0000", "0001", "1900", "1969", "1970", "2000", "2024", "2026", "9999", g.digits(4))
		parts := []string{
			year, "-", g.below(13), "-", g.below(32), "T", g.below(25), ":", g.below(61), ":", g.below(61),
			pick(g, fractions...), pick(g, zones...),
		}
		for i := range parts {
			if g.oneIn(100) {
				parts[i] = pick(g, "", pick(g, oddParts...), parts[i]+parts[i])
			}
		}
		input := strings.Join(parts, "")
		time, canonical, err := parse(text(input))
		if err != nil {
			g.record(input, nil)
			continue
		}
		g.record(input, parsedTime{string(canonical), time.Unix(), time.Nanosecond()})
	}
}

// below returns a random number below the limit, with at least two digits.
func (g generator) below(limit int) string { return fmt.Sprintf("%02d", g.IntN(limit)) }

func versions(g generator) {
	known := []string{
		"", "0", "1", "9", "10", "007", "12", "99999999999999999999", "99999999999999999998", "18446744073709551615",
		"18446744073709551616", "x", "-1", "+1", "1x", "१", " 1", "1 ", "0x1", "1e3",
	}
	emit := func(left, right string) {
		order, err := resourceversion.CompareResourceVersion(left, right)
		if err != nil {
			g.record(text([]string{left, right}), nil)
			return
		}
		g.record(text([]string{left, right}), order)
	}
	for _, left := range known {
		for _, right := range known {
			emit(left, right)
		}
	}
	for range g.count {
		emit(g.digits(24), g.digits(24))
	}
}

// digits returns a random string of 0 to limit digits.
func (g generator) digits(limit int) string {
	letters := make([]byte, g.IntN(limit+1))
	for i := range letters {
		letters[i] = "0123456789"[g.IntN(10)]
	}
	return string(letters)
}

func quantities(g generator) {
	emit := func(text string) {
		quantity, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil {
			g.record(text, nil)
			return
		}
		g.record(text, quantity.String())
	}
	// Exponents are limited here and in quantity, because Go is very slow for
	// large ones.
	allTexts([]string{"0", "1", "5", "9", ".", "-", "+", "e", "E", "i", "K", "M", "k", "m", "n", " "}, 4, emit)
	allTexts([]string{"0", "1", "24", "999", "000", ".", "-", "e", "Ki", "Ei", "u", "E"}, 5, func(text string) {
		if exponent := strings.IndexAny(text, "eE"); exponent < 0 || len(text)-exponent < 5 {
			emit(text)
		}
	})
	for range g.count {
		emit(g.quantity())
	}
}

// quantity returns a random quantity, which is valid in most cases.
func (g generator) quantity() string {
	whole := pick(g, "0", "1", "5", "8", "10", "1000", "1023", "1024", "1025", "1048576", "9223372036854775807",
		"9223372036854775808", "4611686018427387904", "999999999999999999", "999999999999999")
	if g.oneIn(2) {
		whole = g.digits(pick(g, 3, 6, 20, 40))
	}
	whole = pick(g, "", "", "", "-", "+") + pick(g, "", "", "", "", "0", "000") + whole
	fraction := ""
	if g.oneIn(2) {
		fraction = "." + pick(g, "", "0", "000", "00000000", "5", "25", "000000001", "0000000001", "999999999999",
			g.digits(4), g.digits(12), g.digits(40)) + pick(g, "", "", "0", "000")
	}
	number := whole + fraction
	suffix := pick(g, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
	switch g.IntN(12) {
	case 0, 1:
		suffix = pick(g, "e", "E") + pick(g, "", "+", "-", "0", "00") + strconv.Itoa(g.IntN(pick(g, 10, 30, 400, 2000)))
	case 2:
		if len(number) <= 18 && fraction == "" { // Go is fast for large exponents of short integers
			suffix = pick(g, "e", "E") + strconv.Itoa(g.IntN(pick(g, 10_000, 2_000_000_000)))
		}
	case 3:
		suffix = pick(g, "K", "ki", "KI", "kk", "Kim", "e", "e+", "-", "+3", "3", "e1.5", "ee1", "mi", "i", "Zi", "Y", " ", "é", "%")
	}
	if text := number + suffix; g.oneIn(8) && !strings.ContainsAny(suffix, "eE") {
		return g.mutate(text, []string{".", "-", "+", "0", "9", "K", "i", "m", " ", "\u00a0", "x"})
	} else if g.oneIn(20) {
		return pick(g, " ", "\t", "\u00a0", "\u0085", "\u200b", "") + text + pick(g, " ", "\n", "\u3000", "")
	} else {
		return text
	}
}
