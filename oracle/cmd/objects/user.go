package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"watchkeeper/oracle/internal/kinds"
)

// writer encodes an object as JSON like users and their tools do: members in any
// order, null for absent values, explicit zeros, unknown fields, and values that
// are not in canonical form. Times and quantities may differ from the object's.
type writer struct{ filler }

func (w writer) object(value reflect.Value, kind schema.GroupVersionKind) []byte {
	members := w.members(value)
	if _, typed := value.Type().FieldByName("TypeMeta"); typed {
		members = append(members,
			`"kind":`+strconv.Quote(kind.Kind),
			`"apiVersion":`+strconv.Quote(kind.GroupVersion().String()))
	}
	return []byte(w.join("{", members, "}"))
}

// join encodes a list, or an object with its members in random order.
func (w writer) join(open string, items []string, end string) string {
	if open == "{" {
		w.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	return open + w.space() + strings.Join(items, w.space()+","+w.space()) + end
}

// members returns the fields of a struct, each as "name":value.
func (w writer) members(structure reflect.Value) []string {
	var members []string
	for i := range structure.NumField() {
		field, value := structure.Type().Field(i), structure.Field(i)
		name, _ := kinds.JSONName(field)
		switch {
		case name == "-" || field.Type == reflect.TypeFor[metav1.TypeMeta]():
			continue
		case name == ".":
			members = append(members, w.members(value)...)
			continue
		}
		choice := w.Float64()
		switch {
		case value.IsZero() && choice < 0.93 || !value.IsZero() && choice < 0.01:
			continue
		case choice < 0.95:
			members = append(members, quote(w.Rand, name)+":"+w.space()+w.value(value))
		default:
			members = append(members, quote(w.Rand, name)+":null")
		}
		capitalized := strings.ToUpper(name[:1]) + name[1:]
		if w.Float64() < 0.02 && capitalized != name { // names are case-sensitive, so this is an unknown field
			members = append(members, quote(w.Rand, capitalized)+":"+w.randomJSON(false))
		}
	}
	if w.Float64() < 0.05 {
		members = append(members, `"unheardOf":`+w.randomJSON(false))
	}
	return members
}

// value encodes a value.
func (w writer) value(value reflect.Value) string {
	if text, ok := w.special(value); ok {
		return text
	}
	switch value.Kind() {
	case reflect.Struct:
		return w.join("{", w.members(value), "}")
	case reflect.Pointer:
		if value.IsNil() {
			return "null"
		}
		return w.value(value.Elem())
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return strconv.Quote(base64.StdEncoding.EncodeToString(value.Bytes()))
		}
		var items []string
		for i := range value.Len() {
			items = append(items, w.orNull(value.Index(i)))
		}
		return w.join("[", items, "]")
	case reflect.Map:
		var members []string
		for _, key := range value.MapKeys() {
			members = append(members, key.String())
		}
		// The order of Go's maps is random; the output must depend only on the seed.
		slices.Sort(members)
		for i, key := range members {
			entry := value.MapIndex(reflect.ValueOf(key).Convert(value.Type().Key()))
			members[i] = quote(w.Rand, key) + ":" + w.space() + w.orNull(entry)
		}
		return w.join("{", members, "}")
	case reflect.String:
		return quote(w.Rand, value.String())
	case reflect.Float64:
		return strconv.FormatFloat(value.Float(), pick(w.Rand, []byte("eg")), -1, 64)
	}
	return fmt.Sprint(value.Interface()) // numbers and booleans
}

func (w writer) orNull(value reflect.Value) string {
	if w.Float64() < 0.02 {
		return "null"
	}
	return w.value(value)
}

// special encodes a value whose type has a custom encoding.
func (w writer) special(value reflect.Value) (text string, ok bool) {
	switch value := value.Interface().(type) {
	case metav1.Time:
		return w.formatTime(value.Time, []string{time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.0Z07:00"}), true
	case metav1.MicroTime:
		formats := []string{metav1.RFC3339Micro, metav1.RFC3339Micro, metav1.RFC3339Micro, time.RFC3339Nano}
		return w.formatTime(value.Time, formats), true
	case metav1.Duration:
		return strconv.Quote(pick(w.Rand, []string{value.String(), "1.5h", "90m", "-0s", "1h0m0.5s", "100ms"})), true
	case resource.Quantity:
		return w.quantity(), true
	case intstr.IntOrString:
		if value.Type == intstr.Int {
			return strconv.Itoa(int(value.IntVal)), true
		}
		return quote(w.Rand, value.StrVal), true
	case metav1.FieldsV1:
		return w.raw(value.GetRawBytes()), true
	case runtime.RawExtension:
		return w.raw(value.Raw), true
	case apiextensionsv1.JSON:
		return w.raw(value.Raw), true
	case apiextensionsv1.JSONSchemaPropsOrBool:
		if value.Schema == nil {
			return strconv.FormatBool(value.Allows), true
		}
		return w.value(reflect.ValueOf(value.Schema)), true
	case apiextensionsv1.JSONSchemaPropsOrArray:
		if value.Schema == nil {
			return w.value(reflect.ValueOf(value.JSONSchemas)), true
		}
		return w.value(reflect.ValueOf(value.Schema)), true
	case apiextensionsv1.JSONSchemaPropsOrStringArray:
		if value.Schema == nil {
			return w.value(reflect.ValueOf(value.Property)), true
		}
		return w.value(reflect.ValueOf(value.Schema)), true
	}
	return "", false
}

// formatTime encodes a time in a random format and time zone.
func (w writer) formatTime(t time.Time, formats []string) string {
	if t.IsZero() && w.Float64() < 0.5 {
		return "null"
	}
	zone := pick(w.Rand, []*time.Location{
		time.UTC, time.UTC, time.FixedZone("", 3600), time.FixedZone("", -5*3600-1800), time.FixedZone("", 14*3600),
	})
	if local := t.In(zone); local.Year() >= 1 && local.Year() <= 9999 {
		return strconv.Quote(local.Format(pick(w.Rand, formats)))
	}
	return strconv.Quote(t.UTC().Format(formats[0]))
}

func (w writer) quantity() string {
	switch w.IntN(10) {
	case 0: // a number does not need quotes
		return pick(w.Rand, []string{"0", "1", "-1", "1.5", "0.001", "1e3", "1E3", "100e-2", "12345678901234567890"})
	case 1:
		return strconv.Quote(" " + pick(w.Rand, quantities) + " ")
	}
	return strconv.Quote(pick(w.Rand, quantities))
}

func (w writer) raw(data []byte) string {
	switch {
	case len(data) == 0:
		return "null"
	case w.Float64() < 0.1:
		return w.randomJSON(false)
	}
	return string(data)
}

// quote encodes a string as JSON, sometimes with unnecessary escapes.
func quote(random *rand.Rand, text string) string {
	var out strings.Builder
	out.WriteByte('"')
	escapeMore := random.IntN(10) == 0
	for _, letter := range text {
		switch {
		case letter == '"' || letter == '\\' || letter == '/' && escapeMore:
			out.WriteByte('\\')
			out.WriteRune(letter)
		case letter == '\n' && !escapeMore:
			out.WriteString(`\n`)
		case letter < 0x20 || escapeMore && letter < 0x10000 && random.IntN(4) == 0:
			fmt.Fprintf(&out, pick(random, []string{`\u%04x`, `\u%04X`}), letter)
		case escapeMore && letter >= 0x10000:
			high, low := utf16.EncodeRune(letter)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			out.WriteRune(letter)
		}
	}
	if escapeMore && random.IntN(20) == 0 {
		out.WriteString(`\ud83d`) // an unpaired surrogate
	}
	out.WriteByte('"')
	return out.String()
}
