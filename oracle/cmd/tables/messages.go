package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"watchkeeper/oracle/internal/kinds"
)

const (
	metaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaGroup   = metav1.GroupName
)

// Types that look in JSON, in protobuf or in both unlike their Go fields.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "@time",
	reflect.TypeFor[metav1.MicroTime]():                             "@microtime",
	reflect.TypeFor[metav1.Duration]():                              "@duration",
	reflect.TypeFor[metav1.FieldsV1]():                              "@fieldsv1",
	reflect.TypeFor[resource.Quantity]():                            "@quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "@intorstring",
	reflect.TypeFor[runtime.RawExtension]():                         "@raw",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "@json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "@schemaorbool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "@schemaorarray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "@schemaorstringarray",
}

// A special form that holds a schema names the schema's message.
var schema = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()

// What the protobuf envelope is made of. In JSON an Unknown is its raw bytes.
var envelope = reflect.TypeFor[runtime.Unknown]()

type message struct {
	name   string
	fields []string
}

// walker collects the messages that can be reached from those it is given.
type walker struct {
	byName map[string]reflect.Type
	queue  []reflect.Type
}

// describe returns the messages of the given types and all within them, sorted.
func describe(roots []reflect.Type) ([]message, error) {
	w := walker{byName: map[string]reflect.Type{}}
	for _, root := range roots {
		if _, err := w.reach(root); err != nil {
			return nil, err
		}
	}
	var messages []message
	var failures []error
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		name, err := messageName(next)
		failures = append(failures, err)
		fields, err := w.fields(next)
		failures = append(failures, err)
		messages = append(messages, message{name, fields})
	}
	slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.name, b.name) })
	return messages, errors.Join(failures...)
}

// reach names a message, and sees to it that it will be described.
func (w *walker) reach(t reflect.Type) (string, error) {
	name, err := messageName(t)
	if err != nil {
		return "", err
	}
	if t.Kind() != reflect.Struct {
		return "", fmt.Errorf("%s is no struct", t)
	}
	switch known := w.byName[name]; {
	case known == nil:
		w.byName[name] = t
		w.queue = append(w.queue, t)
	case known != t:
		return "", fmt.Errorf("both %v and %v would be %s", known, t, name)
	}
	return name, nil
}

func (w *walker) fields(t reflect.Type) ([]string, error) {
	if t != envelope {
		if err := plain(t); err != nil {
			return nil, err
		}
	}
	type numbered struct {
		number int
		line   string
	}
	var fields []numbered
	wires := map[int]protowire.Type{}
	var failures []error
	for i := range t.NumField() {
		field := t.Field(i)
		number, wire, line, err := w.field(t, field)
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("%s.%s: %w", t, field.Name, err))
		case number != 0:
			fields = append(fields, numbered{number, line})
			wires[number] = wire
		}
	}
	slices.SortFunc(fields, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	var lines []string
	for i, field := range fields {
		if i > 0 && fields[i-1].number == field.number {
			failures = append(failures, fmt.Errorf("%s has two fields of number %d", t, field.number))
		}
		lines = append(lines, field.line)
	}
	failures = append(failures, verify(t, wires))
	return lines, errors.Join(failures...)
}

// field returns a field's protobuf number, wire type and line, or 0 if it has
// none of them.
func (w *walker) field(owner reflect.Type, field reflect.StructField) (int, protowire.Type, string, error) {
	name, options := kinds.JSONName(field)
	flags := ""
	for _, option := range options {
		switch option {
		case "inline":
		case "omitempty":
			flags += "e"
		case "omitzero":
			flags += "z"
		default:
			return 0, 0, "", fmt.Errorf("JSON option %q is not known", option)
		}
	}
	tag, has := field.Tag.Lookup("protobuf")
	switch {
	case !has && field.Type == reflect.TypeFor[metav1.TypeMeta]():
		return 0, 0, "", nil // in protobuf it is the envelope's
	case !has && name == "-":
		return 0, 0, "", nil // Go's own
	case !has:
		return 0, 0, "", errors.New("has a JSON name but no protobuf number")
	case name == "-" && owner != envelope:
		return 0, 0, "", errors.New("has a protobuf number but no JSON name")
	}
	// Of the tag only the number is binding; its wire type and label are
	// often wrong, so verify looks at real bytes instead.
	number, err := strconv.Atoi(strings.Split(tag, ",")[1])
	if err != nil {
		return 0, 0, "", err
	}

	shape, leaf := "one", field.Type
	switch {
	case name == "." && leaf.Kind() == reflect.Pointer:
		shape, leaf = "inlineptr", leaf.Elem()
	case name == ".":
		shape = "inline"
	case leaf.Kind() == reflect.Pointer:
		shape, leaf = "ptr", leaf.Elem()
	case isBytes(leaf) || isStrings(leaf):
	case leaf.Kind() == reflect.Slice:
		shape, leaf = "list", leaf.Elem()
	case leaf.Kind() == reflect.Map:
		if leaf.Key().Kind() != reflect.String {
			return 0, 0, "", fmt.Errorf("is a map by %s", leaf.Key())
		}
		shape, leaf = "map", leaf.Elem()
	}
	kind, err := w.leaf(leaf)
	if err != nil {
		return 0, 0, "", err
	}

	line := fmt.Sprintf("%d %s %s %s %s", number, name, shape, kind, cmp.Or(flags, "-"))
	strategy, key := field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey")
	switch {
	case key != "":
		line += " " + cmp.Or(strategy, "-") + " " + key
	case strategy != "":
		line += " " + strategy
	}
	return number, wireType(shape, kind), line, nil
}

func (w *walker) leaf(t reflect.Type) (string, error) {
	if form, ok := special[t]; ok {
		if !strings.HasPrefix(form, "@schema") {
			return form, nil
		}
		name, err := w.reach(schema)
		return form + ":" + name, err
	}
	switch {
	case isBytes(t):
		return "bytes", nil
	case isStrings(t):
		return "@strings", nil
	case t.Kind() == reflect.Struct:
		return w.reach(t)
	}
	if err := plain(t); err != nil {
		return "", err
	}
	switch t.Kind() {
	case reflect.Bool:
		return "bool", nil
	case reflect.Int32:
		return "i32", nil
	case reflect.Int64:
		return "i64", nil
	case reflect.Float64:
		return "f64", nil
	case reflect.String:
		return "string", nil
	}
	return "", fmt.Errorf("no form for %s, a %s", t, t.Kind())
}

// plain fails for a type that writes itself in ways its fields do not show.
func plain(t reflect.Type) error {
	pointer := reflect.PointerTo(t)
	for _, custom := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()} {
		if pointer.Implements(custom) {
			return fmt.Errorf("%s is its own %s and not known as special", t, custom.Name())
		}
	}
	if marshal, ok := pointer.MethodByName("MarshalToSizedBuffer"); ok {
		file, _ := goruntime.FuncForPC(marshal.Func.Pointer()).FileLine(marshal.Func.Pointer())
		if path.Base(file) != "generated.pb.go" {
			return fmt.Errorf("%s has a hand-written protobuf form (%s) and is not known as special", t, path.Base(file))
		}
	} else if t.Kind() == reflect.Struct {
		return fmt.Errorf("%s has no protobuf form", t)
	}
	return nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// isStrings tells a list of strings that protobuf wraps in a message of its
// own, so that it can be a map's value, from a list that merely has a name.
func isStrings(t reflect.Type) bool {
	_, wrapped := reflect.PointerTo(t).MethodByName("MarshalToSizedBuffer")
	return wrapped && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// messageName shortens k8s.io/api/core/v1.Pod to core.v1.Pod.
func messageName(t reflect.Type) (string, error) {
	pkg := t.PkgPath()
	for _, known := range []string{
		"k8s.io/api/",
		"k8s.io/apimachinery/pkg/apis/",
		"k8s.io/apimachinery/pkg/",
		"k8s.io/apiextensions-apiserver/pkg/apis/",
		"k8s.io/kube-aggregator/pkg/apis/",
	} {
		if rest, ok := strings.CutPrefix(pkg, known); ok {
			return strings.ReplaceAll(rest, "/", ".") + "." + t.Name(), nil
		}
	}
	return "", fmt.Errorf("%s is of no package known here", t)
}
