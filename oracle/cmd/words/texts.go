package main

import "strings"

// pick returns a random element.
func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// oneIn returns true with a probability of 1/n.
func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// tokens returns a concatenation of 1 to limit random tokens.
func (g generator) tokens(tokens []string, limit int) string {
	var text strings.Builder
	for range 1 + g.IntN(limit) {
		text.WriteString(pick(g, tokens...))
	}
	return text.String()
}

// allTexts calls yield with each concatenation of up to limit tokens.
func allTexts(tokens []string, limit int, yield func(string)) {
	extend("", tokens, limit, yield)
}

// extend calls yield with text and each extension of it by up to limit tokens.
func extend(text string, tokens []string, limit int, yield func(string)) {
	yield(text)
	if limit == 0 {
		return
	}
	for _, token := range tokens {
		extend(text+token, tokens, limit-1, yield)
	}
}

// mutate returns the text with up to two random changes: a character is deleted
// or repeated, or an insertion is put before it.
func (g generator) mutate(text string, insertions []string) string {
	letters := strings.Split(text, "")
	for range g.IntN(3) {
		if len(letters) == 0 {
			break
		}
		i := g.IntN(len(letters))
		switch g.IntN(4) {
		case 0:
			letters[i] = ""
		case 1:
			letters[i] += letters[i]
		default:
			letters[i] = pick(g, insertions...) + letters[i]
		}
	}
	return strings.Join(letters, "")
}
