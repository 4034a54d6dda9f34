package main

import (
	"maps"
	"reflect"
	"slices"
)

// strategicPatch returns a random strategic merge patch for a document, which may
// have any of the directives and, if it may be faulty, invalid ones.
func (g *generator) strategicPatch(goType reflect.Type, document map[string]any) map[string]any {
	g.budget = 40
	return g.patchObject(goType, document, 0)
}

func (g *generator) patchObject(goType reflect.Type, old map[string]any, depth int) map[string]any {
	patch := map[string]any{}
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
		if g.budget > 0 && g.chance(percent) {
			g.budget--
			g.patchField(patch, field, value, depth)
		}
	}
	if g.chance(3) {
		patch["unknown"] = g.json(2)
	}
	g.addDirectives(patch, old, depth)
	return patch
}

func (g *generator) addDirectives(patch, old map[string]any, depth int) {
	if g.chance(1) {
		patch["$patch"] = pick(g.Rand, []any{"replace", "delete"})
	}
	if g.injectFault() {
		patch["$patch"] = pick(g.Rand, []any{"merge", "other", int64(5), nil, true, 1.5, []any{"a", int64(1)}})
	}
	if g.chance(5) {
		patch["$retainKeys"] = g.retainKeys(patch, old)
	}
	if g.injectFault() {
		patch[pick(g.Rand, []string{
			"$retainKeys", "$setElementOrder", "$setElementOrder/unknown", "$setElementOrder/", "$setElementOrderX/a",
			"$setElementOrder/name", "$setElementOrder/metadata", "$setElementOrder/spec", "$setElementOrder/a\nb",
			"$deleteFromPrimitiveList", "$deleteFromPrimitiveList/", "$deleteFromPrimitiveList/unknown",
			"$deleteFromPrimitiveList/metadata", "$deleteFromPrimitiveList/spec", "$deleteFromPrimitiveListX/a",
		})] = pick(g.Rand, []any{g.jsonOrNull(2), []any{}, []any{pick(g.Rand, names)}})
	}
}

// retainKeys returns a $retainKeys list with all names that the patch sets.
func (g *generator) retainKeys(patch, old map[string]any) []any {
	keys := []any{}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if name[0] != '$' && !g.injectFault() {
			keys = append(keys, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := patch[name]; !ok && g.chance(60) {
			keys = append(keys, name)
		}
	}
	return keys
}

// patchField sets a field of a patch, and its directives.
func (g *generator) patchField(patch map[string]any, field field, old any, depth int) {
	switch {
	case depth > 0 && g.chance(7):
		patch[field.name] = nil
		return
	case g.injectFault():
		patch[field.name] = g.jsonOrNull(2)
		return
	}
	switch goType := field.goType; {
	case isStruct(goType):
		oldObject, _ := old.(map[string]any)
		object := g.patchObject(goType, oldObject, depth+1)
		if field.retainsKeys() && g.chance(40) {
			object["$retainKeys"] = g.retainKeys(object, oldObject)
		}
		patch[field.name] = object
	case goType.Kind() == reflect.Map:
		object, _ := g.value(goType, depth+1).(map[string]any)
		if g.chance(40) {
			object[pick(g.Rand, names)] = nil
		}
		g.addDirectives(object, nil, depth)
		patch[field.name] = object
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() != reflect.Uint8:
		oldList, _ := old.([]any)
		g.patchList(patch, field, oldList, depth)
	case hasCustomJSON(goType):
		patch[field.name] = g.json(2)
	default:
		patch[field.name] = g.value(goType, depth+1)
	}
}

// patchList sets a list of a patch, and its directives.
func (g *generator) patchList(patch map[string]any, field field, old []any, depth int) {
	if !field.merges() {
		list := g.value(field.goType, depth+1).([]any)
		if g.chance(3) && isStruct(pointee(field.goType.Elem())) {
			list = append(list, map[string]any{"$patch": "replace"})
		}
		if g.injectFault() {
			patch["$setElementOrder/"+field.name] = g.elementOrder(list, old, field)
		}
		if g.injectFault() {
			patch["$deleteFromPrimitiveList/"+field.name] = g.value(field.goType, depth+1)
		}
		patch[field.name] = list
		return
	}
	var list []any
	if field.mergeKey == "" {
		list = g.patchScalars(patch, field, old, depth)
	} else {
		list = g.patchElements(field, old, depth)
	}
	if g.injectFault() && len(list) > 0 {
		list[g.IntN(len(list))] = g.jsonOrNull(2)
	}
	if g.chance(45) {
		patch["$setElementOrder/"+field.name] = g.elementOrder(list, old, field)
	}
	if len(list) > 0 || g.chance(30) {
		patch[field.name] = list
	}
}

// patchScalars returns a patch for a list of scalars, and may set a
// $deleteFromPrimitiveList directive.
func (g *generator) patchScalars(patch map[string]any, field field, old []any, depth int) []any {
	list := []any{}
	for range g.listLength(3) {
		list = g.appendElement(list, field, depth)
	}
	if g.chance(40) {
		deleted := []any{}
		for _, value := range old {
			if g.chance(50) && !slices.Contains(list, value) {
				deleted = append(deleted, value)
			}
		}
		patch["$deleteFromPrimitiveList/"+field.name] = deleted
	}
	return list
}

// patchElements returns a patch for a list of objects.
func (g *generator) patchElements(field field, old []any, depth int) []any {
	inner := pointee(field.goType.Elem())
	list := []any{}
	for _, element := range old {
		object, _ := element.(map[string]any)
		switch {
		case g.chance(20):
			list = append(list, g.deletion(field, object[field.mergeKey]))
		case g.chance(50):
			changed := g.patchObject(inner, object, depth+2)
			changed[field.mergeKey] = object[field.mergeKey]
			if kept, ok := changed["$retainKeys"].([]any); ok || field.retainsKeys() && g.chance(40) {
				changed["$retainKeys"] = append(kept, g.retainKeys(changed, object)...)
			}
			list = append(list, changed)
		}
	}
	for range g.listLength(2) {
		added := g.patchObject(inner, nil, depth+2)
		added[field.mergeKey] = g.mergeKey(field)
		list = append(list, added)
	}
	if g.chance(6) {
		list = append(list, g.deletion(field, g.mergeKey(field)))
	}
	if g.chance(6) {
		list = append(list, map[string]any{"$patch": "replace"})
	}
	hasDirective := func(directive string) func(any) bool {
		return func(element any) bool { return element.(map[string]any)["$patch"] == any(directive) }
	}
	// With both directives, the order of the result would depend on the deleted
	// elements.
	if slices.ContainsFunc(list, hasDirective("replace")) {
		list = slices.DeleteFunc(list, hasDirective("delete"))
	}
	if g.chance(30) {
		g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	if g.injectFault() {
		list = append(list, map[string]any{"$patch": pick(g.Rand, []any{"merge", "other", nil, int64(1)})})
	}
	if g.injectFault() && len(list) > 0 {
		if element, ok := list[g.IntN(len(list))].(map[string]any); ok {
			delete(element, field.mergeKey)
		}
	}
	return list
}

func (g *generator) deletion(field field, key any) any {
	return map[string]any{"$patch": "delete", field.mergeKey: key}
}

// elementOrder returns a $setElementOrder list: the elements of the patch in their
// order, and some of the existing elements at random positions.
func (g *generator) elementOrder(list, old []any, field field) any {
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
		if g.chance(60) && !slices.Contains(keys, keyOf(element, field)) {
			order = slices.Insert(order, g.IntN(len(order)+1), entry(element))
		}
	}
	switch {
	case g.injectFault():
		return g.jsonOrNull(2)
	case g.injectFault() && len(order) > 0:
		order[g.IntN(len(order))] = g.jsonOrNull(1)
	case g.injectFault():
		g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	case g.chance(3) && !g.long: // Go's order of more than 20 unlisted elements is not stable
		order = nil
	}
	if order == nil {
		return []any{}
	}
	return order
}
