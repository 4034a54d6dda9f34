package main

import (
	"maps"
	"reflect"
	"slices"
)

// patch returns a strategic merge patch for a document, with every directive
// that there is and, if it may be faulty, with directives that there are not.
func (m *maker) patch(goType reflect.Type, document map[string]any) map[string]any {
	m.budget = 40
	return m.patchObject(goType, document, 0)
}

func (m *maker) patchObject(goType reflect.Type, old map[string]any, depth int) map[string]any {
	made := map[string]any{}
	for _, field := range fieldsOf(goType) {
		value, ok := old[field.name]
		percent := 4
		switch {
		case ok && (depth == 0 || field.name == "template" || field.name == "spec" || field.merges()):
			percent = 70
		case ok:
			percent = 35
		case depth == 0 || field.merges():
			percent = 12
		}
		if m.budget > 0 && m.chance(percent) {
			m.budget--
			m.patchField(made, field, value, depth)
		}
	}
	if m.chance(3) {
		made["unknown"] = m.anything(2)
	}
	m.addDirectives(made, old, depth)
	return made
}

func (m *maker) addDirectives(made, old map[string]any, depth int) {
	if m.chance(1) {
		made["$patch"] = pick(m.Rand, []any{"replace", "delete"})
	}
	if m.fault() {
		made["$patch"] = pick(m.Rand, []any{"merge", "other", int64(5), nil, true, 1.5, []any{"a", int64(1)}})
	}
	if m.chance(5) {
		made["$retainKeys"] = m.retained(made, old)
	}
	if m.fault() {
		made[pick(m.Rand, []string{
			"$retainKeys", "$setElementOrder", "$setElementOrder/unknown", "$setElementOrder/", "$setElementOrderX/a",
			"$setElementOrder/name", "$setElementOrder/metadata", "$setElementOrder/spec", "$setElementOrder/a\nb",
			"$deleteFromPrimitiveList", "$deleteFromPrimitiveList/", "$deleteFromPrimitiveList/unknown",
			"$deleteFromPrimitiveList/metadata", "$deleteFromPrimitiveList/spec", "$deleteFromPrimitiveListX/a",
		})] = pick(m.Rand, []any{m.anythingOrNull(2), []any{}, []any{pick(m.Rand, names)}})
	}
}

// retained returns a $retainKeys list that names all that the patch sets.
func (m *maker) retained(made, old map[string]any) []any {
	retained := []any{}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if name[0] != '$' && !m.fault() {
			retained = append(retained, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := made[name]; !ok && m.chance(60) {
			retained = append(retained, name)
		}
	}
	return retained
}

// patchField sets a field of a patch, and the directives that go with it.
func (m *maker) patchField(made map[string]any, field field, old any, depth int) {
	switch {
	case depth > 0 && m.chance(7):
		made[field.name] = nil
		return
	case m.fault():
		made[field.name] = m.anythingOrNull(2)
		return
	}
	switch goType := field.goType; {
	case isStruct(goType):
		oldObject, _ := old.(map[string]any)
		object := m.patchObject(goType, oldObject, depth+1)
		if field.retainsKeys() && m.chance(40) {
			object["$retainKeys"] = m.retained(object, oldObject)
		}
		made[field.name] = object
	case goType.Kind() == reflect.Map:
		object, _ := m.value(goType, depth+1).(map[string]any)
		if m.chance(40) {
			object[pick(m.Rand, names)] = nil
		}
		m.addDirectives(object, nil, depth)
		made[field.name] = object
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() != reflect.Uint8:
		oldList, _ := old.([]any)
		m.patchList(made, field, oldList, depth)
	case writesItself(goType):
		made[field.name] = m.anything(2)
	default:
		made[field.name] = m.value(goType, depth+1)
	}
}

func (m *maker) patchList(made map[string]any, field field, old []any, depth int) {
	if !field.merges() {
		list := m.value(field.goType, depth+1).([]any)
		if m.chance(3) && isStruct(pointee(field.goType.Elem())) {
			list = append(list, map[string]any{"$patch": "replace"})
		}
		if m.fault() {
			made["$setElementOrder/"+field.name] = m.orderFor(list, old, field)
		}
		if m.fault() {
			made["$deleteFromPrimitiveList/"+field.name] = m.value(field.goType, depth+1)
		}
		made[field.name] = list
		return
	}
	var list []any
	if field.mergeKey == "" {
		list = m.patchScalars(made, field, old, depth)
	} else {
		list = m.patchElements(field, old, depth)
	}
	if m.fault() && len(list) > 0 {
		list[m.IntN(len(list))] = m.anythingOrNull(2)
	}
	if m.chance(45) {
		made["$setElementOrder/"+field.name] = m.orderFor(list, old, field)
	}
	if len(list) > 0 || m.chance(30) {
		made[field.name] = list
	}
}

// patchScalars returns a patch of a list of scalars, and may set what deletes from it.
func (m *maker) patchScalars(made map[string]any, field field, old []any, depth int) []any {
	list := []any{}
	for range m.length(3) {
		list = m.withOneMore(list, field, depth)
	}
	if m.chance(40) {
		deleted := []any{}
		for _, value := range old {
			if m.chance(50) && !slices.Contains(list, value) {
				deleted = append(deleted, value)
			}
		}
		made["$deleteFromPrimitiveList/"+field.name] = deleted
	}
	return list
}

// patchElements returns a patch of a list of objects.
func (m *maker) patchElements(field field, old []any, depth int) []any {
	inner := pointee(field.goType.Elem())
	list := []any{}
	for _, element := range old {
		object, _ := element.(map[string]any)
		switch {
		case m.chance(20):
			list = append(list, m.deletion(field, object[field.mergeKey]))
		case m.chance(50):
			changed := m.patchObject(inner, object, depth+2)
			changed[field.mergeKey] = object[field.mergeKey]
			if kept, ok := changed["$retainKeys"].([]any); ok || field.retainsKeys() && m.chance(40) {
				changed["$retainKeys"] = append(kept, m.retained(changed, object)...)
			}
			list = append(list, changed)
		}
	}
	for range m.length(2) {
		added := m.patchObject(inner, nil, depth+2)
		added[field.mergeKey] = m.key(field)
		list = append(list, added)
	}
	if m.chance(6) {
		list = append(list, m.deletion(field, m.key(field)))
	}
	if m.chance(6) {
		list = append(list, map[string]any{"$patch": "replace"})
	}
	says := func(directive string) func(any) bool {
		return func(element any) bool { return element.(map[string]any)["$patch"] == any(directive) }
	}
	if slices.ContainsFunc(list, says("replace")) { // in Go, deletions then show in the order of what is there no more
		list = slices.DeleteFunc(list, says("delete"))
	}
	if m.chance(30) {
		m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	if m.fault() {
		list = append(list, map[string]any{"$patch": pick(m.Rand, []any{"merge", "other", nil, int64(1)})})
	}
	if m.fault() && len(list) > 0 {
		if element, ok := list[m.IntN(len(list))].(map[string]any); ok {
			delete(element, field.mergeKey)
		}
	}
	return list
}

func (m *maker) deletion(field field, key any) any {
	return map[string]any{"$patch": "delete", field.mergeKey: key}
}

// orderFor returns a $setElementOrder list: what the patch names, in its order,
// with some of what is there strewn in.
func (m *maker) orderFor(list, old []any, field field) any {
	entry := func(element any) any {
		if object, ok := element.(map[string]any); ok && field.mergeKey != "" {
			return map[string]any{field.mergeKey: object[field.mergeKey]}
		}
		return element
	}
	var order, keys []any
	for _, element := range list {
		if object, ok := element.(map[string]any); ok && object["$patch"] != nil {
			continue
		}
		order = append(order, entry(element))
		keys = append(keys, keyOf(element, field))
	}
	for _, element := range old {
		if m.chance(60) && !slices.Contains(keys, keyOf(element, field)) {
			order = slices.Insert(order, m.IntN(len(order)+1), entry(element))
		}
	}
	switch {
	case m.fault():
		return m.anythingOrNull(2)
	case m.fault() && len(order) > 0:
		order[m.IntN(len(order))] = m.anythingOrNull(1)
	case m.fault():
		m.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	case m.chance(3) && !m.long: // more than twenty without a place, Go leaves in no order
		order = nil
	}
	if order == nil {
		return []any{}
	}
	return order
}
