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

// What people patch most, and what has the most kinds of lists.
var favourites = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Node"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// objects returns the kinds that are stored, sorted.
func objects(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var chosen []schema.GroupVersionKind
	for kind, goType := range scheme.AllKnownTypes() {
		meta, ok := goType.FieldByName("ObjectMeta")
		if ok && meta.Type == reflect.TypeFor[metav1.ObjectMeta]() && kind.Version != runtime.APIVersionInternal {
			chosen = append(chosen, kind)
		}
	}
	slices.SortFunc(chosen, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return chosen
}

// A maker makes documents and patches. Names are few, so that they meet.
type maker struct {
	*rand.Rand
	budget int  // how many more values a document may have
	faulty bool // whether the patch may break the rules
	long   bool // whether lists that are merged are long, and names many
}

var (
	names     = []string{"a", "b", "c", "d", "e"}
	manyNames = strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "")
)

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// chance is true in so many of a hundred cases.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// fault is true now and then, in a patch that may break the rules.
func (m *maker) fault() bool { return m.faulty && m.chance(6) }

// A field as JSON sees it.
type field struct {
	name     string
	goType   reflect.Type
	strategy []string
	mergeKey string
}

func (f field) merges() bool      { return slices.Contains(f.strategy, "merge") }
func (f field) retainsKeys() bool { return slices.Contains(f.strategy, "retainKeys") }

var fieldCache = map[reflect.Type][]field{}

// fieldsOf returns the fields of a struct, those of its embedded structs among them.
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

// writesItself tells types whose JSON is not that of their fields.
func writesItself(goType reflect.Type) bool {
	return goType.Implements(marshaler) || reflect.PointerTo(goType).Implements(marshaler)
}

// isStruct tells types whose JSON is an object of their fields.
func isStruct(goType reflect.Type) bool {
	return goType.Kind() == reflect.Struct && !writesItself(goType)
}

func (m *maker) document(goType reflect.Type) map[string]any { return m.object(goType, 0) }

func (m *maker) object(goType reflect.Type, depth int) map[string]any {
	made := map[string]any{}
	for _, field := range fieldsOf(goType) {
		if m.budget <= 0 {
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
		if m.chance(percent) {
			made[field.name] = m.valueOf(field, depth+1)
		}
	}
	return made
}

// valueOf returns a value of a field; the elements of a list that is merged differ in their key.
func (m *maker) valueOf(field field, depth int) any {
	if field.goType.Kind() != reflect.Slice || !field.merges() {
		return m.value(field.goType, depth)
	}
	list := []any{}
	for range m.length(4) {
		list = m.withOneMore(list, field, depth)
	}
	return list
}

// length returns a length for a list.
func (m *maker) length(most int) int {
	if m.long {
		most *= 10
	}
	return m.IntN(most + 1)
}

// withOneMore adds an element whose key hardly ever another has. A list of
// scalars has none twice: where they end up is up to how Go grows its lists.
func (m *maker) withOneMore(list []any, field field, depth int) []any {
	element := m.value(pointee(field.goType.Elem()), depth+1)
	if _, ok := element.(string); ok && m.long {
		element = pick(m.Rand, manyNames)
	}
	if object, ok := element.(map[string]any); ok && field.mergeKey != "" {
		object[field.mergeKey] = m.key(field)
	}
	taken := slices.ContainsFunc(list, func(other any) bool { return keyOf(other, field) == keyOf(element, field) })
	if taken && (field.mergeKey == "" || m.chance(98)) {
		return list
	}
	return append(list, element)
}

// key returns a value for the merge key of a list's elements.
func (m *maker) key(field field) any {
	for _, inner := range fieldsOf(pointee(field.goType.Elem())) {
		switch {
		case inner.name != field.mergeKey:
		case m.long && inner.goType.Kind() == reflect.String:
			return pick(m.Rand, manyNames)
		case m.long && inner.goType.Kind() == reflect.Int32:
			return int64(m.IntN(50))
		default:
			return m.value(inner.goType, 0)
		}
	}
	return pick(m.Rand, names)
}

// keyOf returns what an element of a merged list is found by, if it is a scalar.
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

func (m *maker) value(goType reflect.Type, depth int) any {
	m.budget--
	goType = pointee(goType)
	switch goType.Name() {
	case "Time", "MicroTime":
		return "2026-01-02T03:04:05Z"
	case "Quantity":
		return pick(m.Rand, []string{"1", "500m", "2Gi"})
	case "IntOrString":
		return pick(m.Rand, []any{int64(80), "http"})
	case "FieldsV1":
		return map[string]any{"f:metadata": map[string]any{}}
	}
	if writesItself(goType) {
		return m.anything(2)
	}
	switch goType.Kind() {
	case reflect.String:
		return pick(m.Rand, names)
	case reflect.Bool:
		return m.chance(50)
	case reflect.Float64, reflect.Float32:
		return 1.5
	case reflect.Struct:
		return m.object(goType, depth)
	case reflect.Map:
		made := map[string]any{}
		for range m.IntN(4) {
			made[pick(m.Rand, names)] = m.value(goType.Elem(), depth+1)
		}
		return made
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "YQ=="
		}
		made := []any{}
		for range m.IntN(4) {
			if m.budget > 0 {
				made = append(made, m.value(goType.Elem(), depth+1))
			}
		}
		return made
	default:
		return int64(m.IntN(5))
	}
}

// anything returns any JSON but null.
func (m *maker) anything(depth int) any {
	choices := 7
	if depth <= 0 {
		choices = 5
	}
	switch m.IntN(choices) {
	case 0:
		return m.chance(50)
	case 1:
		return int64(m.IntN(5))
	case 2:
		return pick(m.Rand, []float64{0.5, 1.25, 1e21})
	case 5:
		made := []any{}
		for range m.IntN(4) {
			made = append(made, m.anythingOrNull(depth-1))
		}
		return made
	case 6:
		made := map[string]any{}
		for range m.IntN(4) {
			made[pick(m.Rand, names)] = m.anythingOrNull(depth - 1)
		}
		return made
	}
	return pick(m.Rand, names)
}

func (m *maker) anythingOrNull(depth int) any {
	if m.chance(10) {
		return nil
	}
	return m.anything(depth)
}

// mutated returns a document of the same type that differs here and there.
func (m *maker) mutated(goType reflect.Type, document map[string]any) map[string]any {
	m.budget = max(m.budget, 30)
	return m.mutatedObject(goType, document, 0)
}

func (m *maker) mutatedObject(goType reflect.Type, old map[string]any, depth int) map[string]any {
	made := map[string]any{}
	known := map[string]bool{}
	for _, field := range fieldsOf(goType) {
		known[field.name] = true
		value, ok := old[field.name]
		switch {
		case !ok && m.chance(4) && m.budget > 0:
			made[field.name] = m.valueOf(field, depth+1)
		case !ok || depth > 0 && m.chance(8):
		default:
			made[field.name] = m.mutatedValue(field, value, depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) { // kind and apiVersion
		if !known[name] {
			made[name] = old[name]
		}
	}
	return made
}

func (m *maker) mutatedValue(field field, old any, depth int) any {
	switch value := old.(type) {
	case map[string]any:
		if isStruct(field.goType) {
			return m.mutatedObject(field.goType, value, depth+1)
		}
		made := maps.Clone(value)
		if m.chance(40) {
			delete(made, pick(m.Rand, names))
			if field.goType.Kind() == reflect.Map {
				made[pick(m.Rand, names)] = m.value(field.goType.Elem(), depth+1)
			}
		}
		return made
	case []any:
		if !field.merges() {
			break
		}
		made := []any{}
		for _, element := range value {
			object, ok := element.(map[string]any)
			switch {
			case m.chance(20):
			case ok && isStruct(pointee(field.goType.Elem())):
				key, named := object[field.mergeKey]
				changed := m.mutatedObject(pointee(field.goType.Elem()), object, depth+2)
				if named {
					changed[field.mergeKey] = key
				}
				made = append(made, changed)
			default:
				made = append(made, element)
			}
		}
		if m.chance(35) {
			made = m.withOneMore(made, field, depth)
		}
		if m.chance(25) {
			m.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
		}
		return made
	}
	if m.chance(20) {
		return m.valueOf(field, depth+1)
	}
	return old
}
