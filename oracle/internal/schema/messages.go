// Package schema finds the messages of the Kubernetes API by walking its Go types.
package schema

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

// specialTypes maps types with a custom JSON or protobuf encoding to their TYPE
// in the tables.
var specialTypes = map[reflect.Type]string{
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

// schemaType is the message that special types with a schema refer to.
var schemaType = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()

// envelopeType is the protobuf envelope. In JSON, an Unknown is encoded as its
// raw bytes.
var envelopeType = reflect.TypeFor[runtime.Unknown]()

// Message is a message of the API.
type Message struct {
	Name   string
	Type   reflect.Type
	Fields []Field // sorted by protobuf number
}

// Field is a field of a message.
type Field struct {
	Number int
	Name   string // as kinds.JSONName returns it
	Line   string // its line in the schema tables
}

// walker collects all messages that are reachable from the root types.
type walker struct {
	byName map[string]reflect.Type
	queue  []reflect.Type
}

// describe returns the messages that are reachable from the root types, sorted
// by name.
func describe(roots []reflect.Type) ([]Message, error) {
	w := walker{byName: map[string]reflect.Type{}}
	for _, root := range roots {
		if _, err := w.enqueue(root); err != nil {
			return nil, err
		}
	}
	var messages []Message
	var errs []error
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		name, err := messageName(next)
		errs = append(errs, err)
		fields, err := w.fields(next)
		errs = append(errs, err)
		messages = append(messages, Message{name, next, fields})
	}
	slices.SortFunc(messages, func(a, b Message) int { return cmp.Compare(a.Name, b.Name) })
	return messages, errors.Join(errs...)
}

// enqueue returns the name of a message, and queues the message if it is new.
func (w *walker) enqueue(t reflect.Type) (string, error) {
	name, err := messageName(t)
	if err != nil {
		return "", err
	}
	if t.Kind() != reflect.Struct {
		return "", fmt.Errorf("%s is not a struct", t)
	}
	switch known := w.byName[name]; {
	case known == nil:
		w.byName[name] = t
		w.queue = append(w.queue, t)
	case known != t:
		return "", fmt.Errorf("%v and %v have the same message name %s", known, t, name)
	}
	return name, nil
}

// fields returns the fields of a message, sorted by number.
func (w *walker) fields(t reflect.Type) ([]Field, error) {
	if t != envelopeType {
		if err := checkEncoding(t); err != nil {
			return nil, err
		}
	}
	var fields []Field
	wires := map[int]protowire.Type{}
	var errs []error
	for i := range t.NumField() {
		field, wire, err := w.field(t, t.Field(i))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s.%s: %w", t, t.Field(i).Name, err))
		case field.Number != 0:
			fields = append(fields, field)
			wires[field.Number] = wire
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Number, b.Number) })
	for i, field := range fields {
		if i > 0 && fields[i-1].Number == field.Number {
			errs = append(errs, fmt.Errorf("%s has two fields with number %d", t, field.Number))
		}
	}
	errs = append(errs, verify(t, wires))
	return fields, errors.Join(errs...)
}

// field returns a field and its wire type. The number is 0 for a field that is
// not in the tables.
func (w *walker) field(owner reflect.Type, field reflect.StructField) (Field, protowire.Type, error) {
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
			return Field{}, 0, fmt.Errorf("unknown JSON option %q", option)
		}
	}
	tag, has := field.Tag.Lookup("protobuf")
	switch {
	case !has && field.Type == reflect.TypeFor[metav1.TypeMeta]():
		return Field{}, 0, nil // part of the envelope in protobuf
	case !has && name == "-":
		return Field{}, 0, nil // not serialized at all
	case !has:
		return Field{}, 0, errors.New("has a JSON name but no protobuf number")
	case name == "-" && owner != envelopeType:
		return Field{}, 0, errors.New("has a protobuf number but no JSON name")
	}
	// Only the number in the tag is reliable. The wire type and the label are
	// often wrong, so verify checks them against encoded bytes.
	number, err := strconv.Atoi(strings.Split(tag, ",")[1])
	if err != nil {
		return Field{}, 0, err
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
			return Field{}, 0, fmt.Errorf("unsupported map key type %s", leaf.Key())
		}
		shape, leaf = "map", leaf.Elem()
	}
	kind, err := w.typeName(leaf)
	if err != nil {
		return Field{}, 0, err
	}

	line := fmt.Sprintf("%d %s %s %s %s", number, name, shape, kind, cmp.Or(flags, "-"))
	strategy, key := field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey")
	switch {
	case key != "":
		line += " " + cmp.Or(strategy, "-") + " " + key
	case strategy != "":
		line += " " + strategy
	}
	return Field{number, name, line}, wireType(shape, kind), nil
}

// typeName returns the TYPE of a field whose pointer, list or map has been
// removed.
func (w *walker) typeName(t reflect.Type) (string, error) {
	if special, ok := specialTypes[t]; ok {
		if !strings.HasPrefix(special, "@schema") {
			return special, nil
		}
		name, err := w.enqueue(schemaType)
		return special + ":" + name, err
	}
	switch {
	case isBytes(t):
		return "bytes", nil
	case isStrings(t):
		return "@strings", nil
	case t.Kind() == reflect.Struct:
		return w.enqueue(t)
	}
	if err := checkEncoding(t); err != nil {
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
	return "", fmt.Errorf("unsupported type %s of kind %s", t, t.Kind())
}

// checkEncoding fails if a type has a custom encoding, which the types of its
// fields do not describe.
func checkEncoding(t reflect.Type) error {
	pointer := reflect.PointerTo(t)
	for _, custom := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()} {
		if pointer.Implements(custom) {
			return fmt.Errorf("%s implements %s but is not a known special type", t, custom.Name())
		}
	}
	if marshal, ok := pointer.MethodByName("MarshalToSizedBuffer"); ok {
		file, _ := goruntime.FuncForPC(marshal.Func.Pointer()).FileLine(marshal.Func.Pointer())
		if path.Base(file) != "generated.pb.go" {
			return fmt.Errorf("%s has a hand-written protobuf encoding (%s) but is not a known special type", t, path.Base(file))
		}
	} else if t.Kind() == reflect.Struct {
		return fmt.Errorf("%s has no protobuf encoding", t)
	}
	return nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// isStrings reports whether a type is a list of strings that protobuf wraps in a
// message, so that it can be the value of a map. Other named lists are not
// wrapped.
func isStrings(t reflect.Type) bool {
	_, wrapped := reflect.PointerTo(t).MethodByName("MarshalToSizedBuffer")
	return wrapped && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// messageName returns the name of a type in the tables: core.v1.Pod for
// k8s.io/api/core/v1.Pod.
func messageName(t reflect.Type) (string, error) {
	pkg := t.PkgPath()
	for _, prefix := range []string{
		"k8s.io/api/",
		"k8s.io/apimachinery/pkg/apis/",
		"k8s.io/apimachinery/pkg/",
		"k8s.io/apiextensions-apiserver/pkg/apis/",
		"k8s.io/kube-aggregator/pkg/apis/",
	} {
		if rest, ok := strings.CutPrefix(pkg, prefix); ok {
			return strings.ReplaceAll(rest, "/", ".") + "." + t.Name(), nil
		}
	}
	return "", fmt.Errorf("%s is in an unknown package", t)
}
