package main

import "strings"

// pick returns any of them.
func pick[T any](t topic, from ...T) T { return from[t.IntN(len(from))] }

// one in so many times, yes.
func (t topic) one(in int) bool { return t.IntN(in) == 0 }

// soup is a few tokens in any order.
func (t topic) soup(tokens []string, most int) string {
	var text strings.Builder
	for range 1 + t.IntN(most) {
		text.WriteString(pick(t, tokens...))
	}
	return text.String()
}

// every calls yield with each string of up to so many tokens.
func every(tokens []string, most int, yield func(string)) { longer("", tokens, most, yield) }

func longer(text string, tokens []string, most int, yield func(string)) {
	yield(text)
	if most == 0 {
		return
	}
	for _, token := range tokens {
		longer(text+token, tokens, most-1, yield)
	}
}

// mutated is the text with up to two characters dropped, doubled or put in.
func (t topic) mutated(text string, insertions []string) string {
	letters := strings.Split(text, "")
	for range t.IntN(3) {
		if len(letters) == 0 {
			break
		}
		at := t.IntN(len(letters))
		switch t.IntN(4) {
		case 0:
			letters[at] = ""
		case 1:
			letters[at] += letters[at]
		default:
			letters[at] = pick(t, insertions...) + letters[at]
		}
	}
	return strings.Join(letters, "")
}
