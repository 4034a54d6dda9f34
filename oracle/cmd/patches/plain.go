package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// addOddNames may add names that a JSON pointer must escape, or that look like an
// index.
func (g *generator) addOddNames(document map[string]any) {
	if metadata, ok := document["metadata"].(map[string]any); ok && g.chance(50) {
		metadata["annotations"] = map[string]any{"example.com/a": "b", "m~n": "c", "": "d", "0": "e"}
	}
}

// jsonPatch returns a random JSON patch for a document.
func (g *generator) jsonPatch(document map[string]any) []byte {
	if g.chance(3) {
		return pick(g.Rand, [][]byte{
			[]byte(`{}`), []byte(`"a"`), []byte(`5`), []byte(`true`), []byte(`null`), []byte(`[5]`), []byte(`[null]`),
			[]byte(`["a"]`), []byte(`[[]]`), []byte(`[{`), []byte(`[]`), []byte(`[{}]`), []byte(` [ {"op" : "add"} ] `),
		})
	}
	var paths []string
	values := map[string]any{}
	walk(document, "", func(path string, value any) {
		paths = append(paths, path)
		values[path] = value
	})
	patch := []any{}
	for range 1 + g.IntN(4) {
		patch = append(patch, g.operation(paths, values))
	}
	return marshal(patch)
}

func (g *generator) operation(paths []string, values map[string]any) map[string]any {
	path := g.path(paths)
	op := map[string]any{"path": path}
	switch g.IntN(6) {
	case 0:
		op["op"], op["value"] = "add", g.jsonOrNull(2)
	case 1:
		op["op"] = "remove"
	case 2:
		op["op"], op["value"] = "replace", g.jsonOrNull(2)
	case 3:
		op["op"], op["from"] = "move", g.path(paths)
	case 4:
		op["op"], op["from"] = "copy", g.path(paths)
	case 5:
		op["op"], op["value"] = "test", g.jsonOrNull(2)
		if value, ok := values[path]; ok && g.chance(80) {
			op["value"] = value
		}
	}
	if g.chance(2) {
		delete(op, pick(g.Rand, []string{"op", "path", "from"}))
	}
	if g.chance(2) {
		op[pick(g.Rand, []string{"op", "path", "from", "other"})] = g.jsonOrNull(1)
	}
	return op
}

// path returns a random path, which exists in the document in most cases.
func (g *generator) path(paths []string) string {
	path := pick(g.Rand, paths)
	switch g.IntN(20) {
	case 0:
		return path + "/" + pick(g.Rand, names)
	case 1, 2:
		return path + "/" + pick(g.Rand, []string{"-", "0", "1", "-1", "-2", "+1", "01", "7", "x", "", "99999999999999999999"})
	case 3:
		parent := path[:strings.LastIndexByte("/"+path, '/')]
		return parent + "/" + pick(g.Rand, []string{"-", "0", "1", "-1", "-2", "a", "7"})
	case 4:
		return pick(g.Rand, []string{"", "/", "a", "a/b", "metadata/name", "/~", "/~2", "/~01", "//", "/a/"})
	}
	return path
}

// walk calls visit with every value within another, and its JSON pointer.
func walk(value any, path string, visit func(string, any)) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			inner := path + "/" + escape.Replace(name)
			visit(inner, value[name])
			walk(value[name], inner, visit)
		}
	case []any:
		for i := range value {
			inner := path + "/" + strconv.Itoa(i)
			visit(inner, value[i])
			walk(value[i], inner, visit)
		}
	}
}

// mergePatch returns a random JSON merge patch for a document.
func (g *generator) mergePatch(document map[string]any) []byte {
	if g.chance(2) {
		return marshal(g.jsonOrNull(2))
	}
	return marshal(g.mergeObject(document))
}

func (g *generator) mergeObject(old map[string]any) map[string]any {
	patch := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if g.chance(50) {
			patch[name] = g.mergeValue(old[name])
		}
	}
	for range g.IntN(3) {
		patch[pick(g.Rand, names)] = g.jsonOrNull(3)
	}
	return patch
}

func (g *generator) mergeValue(old any) any {
	object, ok := old.(map[string]any)
	if ok && g.chance(80) {
		return g.mergeObject(object)
	}
	return g.jsonOrNull(3)
}

// faultyPatch returns a patch for a "faults" topic, with duplicate names, unknown
// fields, values of the wrong type, or malformed JSON.
func (g *generator) faultyPatch(topic string, document map[string]any) []byte {
	var patch any = g.mergeObject(document)
	if topic == "faults json" {
		var paths []string
		walk(document, "", func(path string, _ any) { paths = append(paths, path) })
		operations := []any{}
		for range g.IntN(4) {
			operations = append(operations, g.operation(paths, nil))
		}
		patch = operations
	}
	if g.chance(10) {
		patch = g.jsonOrNull(3)
	}
	encoded := g.appendJSON(nil, patch)
	if g.chance(2) {
		encoded = encoded[:len(encoded)-1]
	}
	return encoded
}

// appendJSON appends a value as JSON, in which names are sometimes duplicated.
func (g *generator) appendJSON(out []byte, value any) []byte {
	switch value := value.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				out = append(out, ", "...)
			}
			if g.chance(10) {
				out = append(append(append(out, marshal(name)...), ": "...), marshal(g.json(1))...)
				out = append(out, ", "...)
			}
			out = g.appendJSON(append(append(out, marshal(name)...), ": "...), value[name])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i := range value {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = g.appendJSON(out, value[i])
		}
		return append(out, ']')
	}
	return append(out, marshal(value)...)
}
