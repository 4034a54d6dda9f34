package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// parsedSelector is the result for a selector.
type parsedSelector struct {
	Text    string            `json:"text"`
	Selects string            `json:"selects"`         // 0 or 1 for each set
	Exact   map[string]string `json:"exact"`           // required values by key, for lookups in an index
	Terms   [][3]string       `json:"terms,omitempty"` // field, operator and value; only for field selectors
}

// matchAll returns a string with a 0 or a 1 for each of the sets.
func matchAll[S any](sets []S, matches func(S) bool) string {
	bits := make([]byte, len(sets))
	for i, set := range sets {
		if bits[i] = '0'; matches(set) {
			bits[i] = '1'
		}
	}
	return string(bits)
}

// labelSets returns sets with all combinations of values for x and y, either of
// which may be absent. The label "in" has the value of y.
func labelSets() []labels.Set {
	values := []string{"-", "", "a", "b", "5", "-7", "+8", "99999999999999999999", "in"}
	sets := []labels.Set{}
	for _, x := range values {
		for _, y := range values {
			set := labels.Set{"x": x, "y": y, "in": y}
			for key, value := range set {
				if value == "-" {
					delete(set, key)
				}
			}
			sets = append(sets, set)
		}
	}
	return sets
}

// parsedLabels returns the result of parsing a label selector.
func parsedLabels(selector labels.Selector, err error, sets []labels.Set) any {
	if err != nil {
		return nil
	}
	result := parsedSelector{selector.String(), "", map[string]string{}, nil}
	result.Selects = matchAll(sets, func(set labels.Set) bool { return selector.Matches(set) })
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if value, ok := selector.RequiresExactMatch(requirement.Key()); ok {
			result.Exact[requirement.Key()] = value
		}
	}
	return result
}

var (
	labelTokens = []string{"x", "y", "in", "notin", "=", "!", ">", "(", ")", ",", " ", "5"}
	labelKeys   = []string{"x", "y", "in", "notin", "a.b/c", "z-1", "é", "-x", "x/y/z", "kubernetes.io/name", ""}
	labelValues = []string{
		"", "", "a", "a", "b", "b", "5", "5", "007", "in", "notin", "x.y", "1e3", "a", "b", "5", "in", "", "a b", "é", "-a",
		strings.Repeat("v", 64),
	}
	labelRandomTokens = []string{
		"x", "x", "y", "y", "a", "b", "5", "in", " in ", "notin", " notin ", "=", "==", "!=", "!", ">", "<",
		"(", "(", ")", ")", ",", ",", ",", ", ", " ", "\t", "\n", "\r", "\v", "\u00a0", "\x00",
		"007", "-7", "+8", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1_0", "0x1",
		"a/b", "A/b", "a.b/c", "a_b/c", "a..b/c", ".a/b", "a./b", "-a/b", "a-/b", "a-.b/c", "/b", "b/", "a/b/c", "//", "/",
		"-", "_", "_x", "x_", ".x", "x.y-z_w", "é", "ｘ", "\"", "'", "||", "&", ";", "\\", "*", "kubernetes.io/name",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("0", 64),
		strings.Repeat("a", 253) + "/n", strings.Repeat("a", 254) + "/n",
		"a.b/" + strings.Repeat("a", 63), "a.b/" + strings.Repeat("a", 64),
	}
)

// labelSelectors generates selectors with at most twelve requirements. Go's sort
// is not stable for more, so requirements with equal keys could change places.
func labelSelectors(g generator) {
	sets := labelSets()
	g.record("", sets)
	emit := func(text string) {
		selector, err := labels.Parse(text)
		g.record(text, parsedLabels(selector, err, sets))
	}
	allTexts(labelTokens, 5, emit)
	for range g.count / 2 {
		emit(g.tokens(labelRandomTokens, 12))
		emit(g.mutate(g.requirements(), []string{"=", "(", ",", "!", " ", ">"}))
	}
}

// requirements returns a random label selector, which is valid in most cases.
func (g generator) requirements() string {
	var terms []string
	blank := func() string { return pick(g, "", "", " ", "\t ") }
	for range 1 + g.IntN(4) {
		key := pick(g, "x", "y", "in")
		if g.oneIn(5) {
			key = pick(g, labelKeys...)
		}
		switch g.IntN(8) {
		case 0:
			terms = append(terms, key)
		case 1:
			terms = append(terms, "!"+blank()+key)
		case 2, 3:
			terms = append(terms, key+blank()+pick(g, "=", "==", "!=")+blank()+pick(g, labelValues...))
		case 4:
			terms = append(terms, key+pick(g, ">", "<")+pick(g, labelValues...))
		default:
			var values []string
			for range g.IntN(5) {
				values = append(values, blank()+pick(g, labelValues...)+blank())
			}
			terms = append(terms, key+" "+pick(g, "in", "notin")+blank()+"("+strings.Join(values, ",")+")")
		}
	}
	return strings.Join(terms, pick(g, ",", ",", " , ", ",,"))
}

func labelExpressions(g generator) {
	sets := labelSets()
	g.record("", sets)
	for range g.count {
		body := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range g.IntN(3) {
			body.MatchLabels[pick(g, labelKeys...)] = pick(g, labelValues...)
		}
		for range g.IntN(3) {
			operator := pick(g, "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "in", "", "Gt")
			expression := metav1.LabelSelectorRequirement{
				Key: pick(g, labelKeys[:6]...), Operator: metav1.LabelSelectorOperator(operator),
			}
			for range g.IntN(4) {
				expression.Values = append(expression.Values, pick(g, labelValues...))
			}
			body.MatchExpressions = append(body.MatchExpressions, expression)
		}
		selector, err := metav1.LabelSelectorAsSelector(body)
		g.record(text(body), parsedLabels(selector, err, sets))
	}
}

func fieldSelectors(g generator) {
	sets := []fields.Set{
		{}, {"x": "x"}, {"x": "y", "y": ""}, {"y": "x", "x": ""}, {"": "", "x": "=,\\"}, {"": "x", "y": "y"},
		{"metadata.name": "x", "x": "a"}, {"spec.nodeName": "y", "y": " "},
	}
	g.record("", sets)
	emit := func(text string) {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			g.record(text, nil)
			return
		}
		result := parsedSelector{selector.String(), "", map[string]string{}, [][3]string{}}
		result.Selects = matchAll(sets, func(set fields.Set) bool { return selector.Matches(set) })
		for _, r := range selector.Requirements() {
			result.Terms = append(result.Terms, [3]string{r.Field, string(r.Operator), r.Value})
			if value, ok := selector.RequiresExactMatch(r.Field); ok {
				result.Exact[r.Field] = value
			}
		}
		g.record(text, result)
	}
	allTexts([]string{"x", "y", "=", "!", ",", "\\", " "}, 6, emit)
	tokens := []string{
		"metadata.name", "spec.nodeName", "x", "y", "a", "=", "=", "==", "!=", "!", ",", ",", "\\,", "\\=", "\\\\",
		"\\", "\\x", " ", "é", "in", "(", ")", "\x00", "x=y", "x!=y", "y=x", "x=",
	}
	for range g.count {
		emit(g.tokens(tokens, 16))
	}
}
