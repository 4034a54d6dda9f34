package main

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"watchkeeper/oracle/internal/kinds"
)

// commonKinds are patched most often, or have the most types of lists.
var commonKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Node"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// storedKinds returns the kinds that have object metadata, sorted.
func storedKinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var stored []schema.GroupVersionKind
	for kind, goType := range scheme.AllKnownTypes() {
		meta, ok := goType.FieldByName("ObjectMeta")
		if ok && meta.Type == reflect.TypeFor[metav1.ObjectMeta]() && kind.Version != runtime.APIVersionInternal {
			stored = append(stored, kind)
		}
	}
	slices.SortFunc(stored, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return stored
}

// generator generates documents and patches. It uses only a few names, so that
// those of a patch often match those of its document.
type generator struct {
	*rand.Rand
	budget int  // number of values that may still be added to the document
	faulty bool // whether the patch may be invalid
	long   bool // whether merged lists are long and have many different names
}

var (
	names     = []string{"a", "b", "c", "d", "e"}
	manyNames = strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "")
)

// pick returns a random element.
func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// chance returns true with the given probability, in percent.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// injectFault returns true occasionally if the patch may be invalid.
func (g *generator) injectFault() bool { return g.faulty && g.chance(6) }

// field is a field of a JSON object.
type field struct {
	name     string
	goType   reflect.Type
	strategy []string
	mergeKey string
}

func (f field) merges() bool      { return slices.Contains(f.strategy, "merge") }
func (f field) retainsKeys() bool { return slices.Contains(f.strategy, "retainKeys") }

var fieldCache = map[reflect.Type][]field{}

// fieldsOf returns the fields of a struct, including those of embedded structs.
func fieldsOf(goType reflect.Type) []field {
	if cached, ok := fieldCache[goType]; ok {
		return cached
	}
	var all []field
	for i := range goType.NumField() {
		inner := goType.Field(i)
		name, _ := kinds.JSONName(inner)
		switch {
		case name == "-" || !inner.IsExported():
		case name == "." && inner.Name != "TypeMeta":
			all = append(all, fieldsOf(pointee(inner.Type))...)
		case name == ".":
		default:
			strategy := strings.Split(inner.Tag.Get("patchStrategy"), ",")
			all = append(all, field{name, pointee(inner.Type), strategy, inner.Tag.Get("patchMergeKey")})
		}
	}
	fieldCache[goType] = all
	return all
}

func pointee(goType reflect.Type) reflect.Type {
	if goType.Kind() == reflect.Pointer {
		return goType.Elem()
	}
	return goType
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// hasCustomJSON reports whether a type implements json.Marshaler.
func hasCustomJSON(goType reflect.Type) bool {
	return goType.Implements(marshaler) || reflect.PointerTo(goType).Implements(marshaler)
}

// isStruct reports whether the JSON of a type is an object of its fields.
func isStruct(goType reflect.Type) bool {
	return goType.Kind() == reflect.Struct && !hasCustomJSON(goType)
}

func (g *generator) document(goType reflect.Type) map[string]any { return g.object(goType, 0) }

func (g *generator) object(goType reflect.Type, depth int) map[string]any {
	out := map[string]any{}
	for _, field := range fieldsOf(goType) {
		if g.budget <= 0 {
			break
		}
		percent := 20
		switch {
		case depth == 0 || field.name == "template" || field.name == "spec" || field.name == "containers":
			percent = 85
		case field.merges() || field.retainsKeys():
			percent = 45
		}
		if depth > 6 {
			percent /= 4
		}
		if g.chance(percent) {
			out[field.name] = g.fieldValue(field, depth+1)
		}
	}
	return out
}

// fieldValue returns a value for a field. The elements of a merged list have
// different keys in most cases.
func (g *generator) fieldValue(field field, depth int) any {
	if field.goType.Kind() != reflect.Slice || !field.merges() {
		return g.value(field.goType, depth)
	}
	list := []any{}
	for range g.listLength(4) {
		list = g.appendElement(list, field, depth)
	}
	return list
}

// listLength returns a random length of at most limit, or ten times that for long
// lists.
func (g *generator) listLength(limit int) int {
	if g.long {
		limit *= 10
	}
	return g.IntN(limit + 1)
}

// appendElement appends an element to a merged list unless its key is taken; in
// rare cases it appends a duplicate. Lists of scalars never have duplicates,
// because their order after a patch depends on the capacity of Go's slices.
func (g *generator) appendElement(list []any, field field, depth int) []any {
	element := g.value(pointee(field.goType.Elem()), depth+1)
	if _, ok := element.(string); ok && g.long {
		element = pick(g.Rand, manyNames)
	}
	if object, ok := element.(map[string]any); ok && field.mergeKey != "" {
		object[field.mergeKey] = g.mergeKey(field)
	}
	taken := slices.ContainsFunc(list, func(other any) bool { return keyOf(other, field) == keyOf(element, field) })
	if taken && (field.mergeKey == "" || g.chance(98)) {
		return list
	}
	return append(list, element)
}

// mergeKey returns a value for the merge key of a list's elements.
func (g *generator) mergeKey(field field) any {
	for _, inner := range fieldsOf(pointee(field.goType.Elem())) {
		switch {
		case inner.name != field.mergeKey:
		case g.long && inner.goType.Kind() == reflect.String:
			return pick(g.Rand, manyNames)
		case g.long && inner.goType.Kind() == reflect.Int32:
			return int64(g.IntN(50))
		default:
			return g.value(inner.goType, 0)
		}
	}
	return pick(g.Rand, names)
}

// keyOf returns the value that identifies an element of a merged list, or nil if
// it is not a scalar.
func keyOf(element any, field field) any {
	if object, ok := element.(map[string]any); ok && field.mergeKey != "" {
		element = object[field.mergeKey]
	}
	switch element.(type) {
	case map[string]any, []any:
		return nil
	}
	return element
}

// value returns a random value of a type.
func (g *generator) value(goType reflect.Type, depth int) any {
	g.budget--
	goType = pointee(goType)
	switch goType.Name() {
	case "Time", "MicroTime":
		return "2026-01-02T03:04:05Z"
	case "Quantity":
		return pick(g.Rand, []string{"1", "500m", "2Gi"})
	case "IntOrString":
		return pick(g.Rand, []any{int64(80), "http"})
	case "FieldsV1":
		return map[string]any{"f:metadata": map[string]any{}}
	}
	if hasCustomJSON(goType) {
		return g.json(2)
	}
	switch goType.Kind() {
	case reflect.String:
		return pick(g.Rand, names)
	case reflect.Bool:
		return g.chance(50)
	case reflect.Float64, reflect.Float32:
		return 1.5
	case reflect.Struct:
		return g.object(goType, depth)
	case reflect.Map:
		out := map[string]any{}
		for range g.IntN(4) {
			out[pick(g.Rand, names)] = g.value(goType.Elem(), depth+1)
		}
		return out
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "YQ=="
		}
		out := []any{}
		for range g.IntN(4) {
			if g.budget > 0 {
				out = append(out, g.value(goType.Elem(), depth+1))
			}
		}
		return out
	default:
		return int64(g.IntN(5))
	}
}

// json returns a random JSON value other than null.
func (g *generator) json(depth int) any {
	choices := 7
	if depth <= 0 {
		choices = 5
	}
	switch g.IntN(choices) {
	case 0:
		return g.chance(50)
	case 1:
		return int64(g.IntN(5))
	case 2:
		return pick(g.Rand, []float64{0.5, 1.25, 1e21})
	case 5:
		out := []any{}
		for range g.IntN(4) {
			out = append(out, g.jsonOrNull(depth-1))
		}
		return out
	case 6:
		out := map[string]any{}
		for range g.IntN(4) {
			out[pick(g.Rand, names)] = g.jsonOrNull(depth - 1)
		}
		return out
	}
	return pick(g.Rand, names)
}

func (g *generator) jsonOrNull(depth int) any {
	if g.chance(10) {
		return nil
	}
	return g.json(depth)
}

// mutate returns a random variant of a document.
func (g *generator) mutate(goType reflect.Type, document map[string]any) map[string]any {
	g.budget = max(g.budget, 30)
	return g.mutateObject(goType, document, 0)
}

func (g *generator) mutateObject(goType reflect.Type, old map[string]any, depth int) map[string]any {
	out := map[string]any{}
	known := map[string]bool{}
	for _, field := range fieldsOf(goType) {
		known[field.name] = true
		value, ok := old[field.name]
		switch {
		case !ok && g.chance(4) && g.budget > 0:
			out[field.name] = g.fieldValue(field, depth+1)
		case !ok || depth > 0 && g.chance(8):
		default:
			out[field.name] = g.mutateValue(field, value, depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) { // kind and apiVersion
		if !known[name] {
			out[name] = old[name]
		}
	}
	return out
}

func (g *generator) mutateValue(field field, old any, depth int) any {
	switch value := old.(type) {
	case map[string]any:
		if isStruct(field.goType) {
			return g.mutateObject(field.goType, value, depth+1)
		}
		out := maps.Clone(value)
		if g.chance(40) {
			delete(out, pick(g.Rand, names))
			if field.goType.Kind() == reflect.Map {
				out[pick(g.Rand, names)] = g.value(field.goType.Elem(), depth+1)
			}
		}
		return out
	case []any:
		if !field.merges() {
			break
		}
		out := []any{}
		for _, element := range value {
			object, ok := element.(map[string]any)
			switch {
			case g.chance(20):
			case ok && isStruct(pointee(field.goType.Elem())):
				key, named := object[field.mergeKey]
				changed := g.mutateObject(pointee(field.goType.Elem()), object, depth+2)
				if named {
					changed[field.mergeKey] = key
				}
				out = append(out, changed)
			default:
				out = append(out, element)
			}
		}
		if g.chance(35) {
			out = g.appendElement(out, field, depth)
		}
		if g.chance(25) {
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	if g.chance(20) {
		return g.fieldValue(field, depth+1)
	}
	return old
}
