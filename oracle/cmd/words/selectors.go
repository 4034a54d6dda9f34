package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selected is what Go makes of a selector.
type selected struct {
	Text    string            `json:"text"`
	Selects string            `json:"selects"`         // of each set, 0 or 1
	Exact   map[string]string `json:"exact"`           // the values that can be looked up in an index
	Terms   [][3]string       `json:"terms,omitempty"` // of a field selector: field, operator, value
}

// selects has a 0 or a 1 for each of the sets.
func selects[S any](sets []S, matches func(S) bool) string {
	bits := make([]byte, len(sets))
	for i, set := range sets {
		if bits[i] = '0'; matches(set) {
			bits[i] = '1'
		}
	}
	return string(bits)
}

// labelSets have x and y, or lack them; what y is, in is too.
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

func ofLabels(selector labels.Selector, err error, sets []labels.Set) any {
	if err != nil {
		return nil
	}
	answer := selected{selector.String(), "", map[string]string{}, nil}
	answer.Selects = selects(sets, func(set labels.Set) bool { return selector.Matches(set) })
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if value, ok := selector.RequiresExactMatch(requirement.Key()); ok {
			answer.Exact[requirement.Key()] = value
		}
	}
	return answer
}

var (
	labelTokens = []string{"x", "y", "in", "notin", "=", "!", ">", "(", ")", ",", " ", "5"}
	labelKeys   = []string{"x", "y", "in", "notin", "a.b/c", "z-1", "é", "-x", "x/y/z", "kubernetes.io/name", ""}
	labelValues = []string{
		"", "", "a", "a", "b", "b", "5", "5", "007", "in", "notin", "x.y", "1e3", "a", "b", "5", "in", "", "a b", "é", "-a",
		strings.Repeat("v", 64),
	}
	labelSoup = []string{
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

// labelSelectors have no more than twelve requirements: Go sorts more of them by
// an algorithm that may change the order of those of one key.
func labelSelectors(t topic) {
	sets := labelSets()
	t.record("", sets)
	ask := func(text string) {
		selector, err := labels.Parse(text)
		t.record(text, ofLabels(selector, err, sets))
	}
	every(labelTokens, 5, ask)
	for range t.count / 2 {
		ask(t.soup(labelSoup, 12))
		ask(t.mutated(t.requirements(), []string{"=", "(", ",", "!", " ", ">"}))
	}
}

// requirements is a label selector as it should be, for the most part.
func (t topic) requirements() string {
	var terms []string
	blank := func() string { return pick(t, "", "", " ", "\t ") }
	for range 1 + t.IntN(4) {
		key := pick(t, "x", "y", "in")
		if t.one(5) {
			key = pick(t, labelKeys...)
		}
		switch t.IntN(8) {
		case 0:
			terms = append(terms, key)
		case 1:
			terms = append(terms, "!"+blank()+key)
		case 2, 3:
			terms = append(terms, key+blank()+pick(t, "=", "==", "!=")+blank()+pick(t, labelValues...))
		case 4:
			terms = append(terms, key+pick(t, ">", "<")+pick(t, labelValues...))
		default:
			var values []string
			for range t.IntN(5) {
				values = append(values, blank()+pick(t, labelValues...)+blank())
			}
			terms = append(terms, key+" "+pick(t, "in", "notin")+blank()+"("+strings.Join(values, ",")+")")
		}
	}
	return strings.Join(terms, pick(t, ",", ",", " , ", ",,"))
}

func labelExpressions(t topic) {
	sets := labelSets()
	t.record("", sets)
	for range t.count {
		body := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range t.IntN(3) {
			body.MatchLabels[pick(t, labelKeys...)] = pick(t, labelValues...)
		}
		for range t.IntN(3) {
			operator := pick(t, "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "in", "", "Gt")
			expression := metav1.LabelSelectorRequirement{
				Key: pick(t, labelKeys[:6]...), Operator: metav1.LabelSelectorOperator(operator),
			}
			for range t.IntN(4) {
				expression.Values = append(expression.Values, pick(t, labelValues...))
			}
			body.MatchExpressions = append(body.MatchExpressions, expression)
		}
		selector, err := metav1.LabelSelectorAsSelector(body)
		t.record(text(body), ofLabels(selector, err, sets))
	}
}

func fieldSelectors(t topic) {
	sets := []fields.Set{
		{}, {"x": "x"}, {"x": "y", "y": ""}, {"y": "x", "x": ""}, {"": "", "x": "=,\\"}, {"": "x", "y": "y"},
		{"metadata.name": "x", "x": "a"}, {"spec.nodeName": "y", "y": " "},
	}
	t.record("", sets)
	ask := func(text string) {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			t.record(text, nil)
			return
		}
		answer := selected{selector.String(), "", map[string]string{}, [][3]string{}}
		answer.Selects = selects(sets, func(set fields.Set) bool { return selector.Matches(set) })
		for _, it := range selector.Requirements() {
			answer.Terms = append(answer.Terms, [3]string{it.Field, string(it.Operator), it.Value})
			if value, ok := selector.RequiresExactMatch(it.Field); ok {
				answer.Exact[it.Field] = value
			}
		}
		t.record(text, answer)
	}
	every([]string{"x", "y", "=", "!", ",", "\\", " "}, 6, ask)
	soup := []string{
		"metadata.name", "spec.nodeName", "x", "y", "a", "=", "=", "==", "!=", "!", ",", ",", "\\,", "\\=", "\\\\",
		"\\", "\\x", " ", "é", "in", "(", ")", "\x00", "x=y", "x!=y", "y=x", "x=",
	}
	for range t.count {
		ask(t.soup(soup, 16))
	}
}
