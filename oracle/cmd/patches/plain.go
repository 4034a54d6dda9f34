package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// withOddNames gives a document names that a path must escape, or that look like an index.
func (m *maker) withOddNames(document map[string]any) {
	if metadata, ok := document["metadata"].(map[string]any); ok && m.chance(50) {
		metadata["annotations"] = map[string]any{"example.com/a": "b", "m~n": "c", "": "d", "0": "e"}
	}
}

// operations returns a JSON patch for a document.
func (m *maker) operations(document map[string]any) []byte {
	if m.chance(3) {
		return pick(m.Rand, [][]byte{
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
	for range 1 + m.IntN(4) {
		patch = append(patch, m.operation(paths, values))
	}
	return marshal(patch)
}

func (m *maker) operation(paths []string, values map[string]any) map[string]any {
	path := m.path(paths)
	made := map[string]any{"path": path}
	switch m.IntN(6) {
	case 0:
		made["op"], made["value"] = "add", m.anythingOrNull(2)
	case 1:
		made["op"] = "remove"
	case 2:
		made["op"], made["value"] = "replace", m.anythingOrNull(2)
	case 3:
		made["op"], made["from"] = "move", m.path(paths)
	case 4:
		made["op"], made["from"] = "copy", m.path(paths)
	case 5:
		made["op"], made["value"] = "test", m.anythingOrNull(2)
		if value, ok := values[path]; ok && m.chance(80) {
			made["value"] = value
		}
	}
	if m.chance(2) {
		delete(made, pick(m.Rand, []string{"op", "path", "from"}))
	}
	if m.chance(2) {
		made[pick(m.Rand, []string{"op", "path", "from", "other"})] = m.anythingOrNull(1)
	}
	return made
}

// path returns a path that the document has, or nearly has.
func (m *maker) path(paths []string) string {
	path := pick(m.Rand, paths)
	switch m.IntN(20) {
	case 0:
		return path + "/" + pick(m.Rand, names)
	case 1, 2:
		return path + "/" + pick(m.Rand, []string{"-", "0", "1", "-1", "-2", "+1", "01", "7", "x", "", "99999999999999999999"})
	case 3:
		parent := path[:strings.LastIndexByte("/"+path, '/')]
		return parent + "/" + pick(m.Rand, []string{"-", "0", "1", "-1", "-2", "a", "7"})
	case 4:
		return pick(m.Rand, []string{"", "/", "a", "a/b", "metadata/name", "/~", "/~2", "/~01", "//", "/a/"})
	}
	return path
}

// walk visits every value within another, with its path.
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

// mergePatch returns a JSON merge patch for a document.
func (m *maker) mergePatch(document map[string]any) []byte {
	if m.chance(2) {
		return marshal(m.anythingOrNull(2))
	}
	return marshal(m.mergeObject(document))
}

func (m *maker) mergeObject(old map[string]any) map[string]any {
	made := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if m.chance(50) {
			made[name] = m.mergeValue(old[name])
		}
	}
	for range m.IntN(3) {
		made[pick(m.Rand, names)] = m.anythingOrNull(3)
	}
	return made
}

func (m *maker) mergeValue(old any) any {
	object, ok := old.(map[string]any)
	if ok && m.chance(80) {
		return m.mergeObject(object)
	}
	return m.anythingOrNull(3)
}

// sloppy returns a patch for a topic with faults: names that stand twice, fields
// that an operation does not have, values of the wrong type, or no JSON at all.
func (m *maker) sloppy(topic string, document map[string]any) []byte {
	var patch any = m.mergeObject(document)
	if topic == "faults json" {
		var paths []string
		walk(document, "", func(path string, _ any) { paths = append(paths, path) })
		operations := []any{}
		for range m.IntN(4) {
			operations = append(operations, m.operation(paths, nil))
		}
		patch = operations
	}
	if m.chance(10) {
		patch = m.anythingOrNull(3)
	}
	written := m.written(nil, patch)
	if m.chance(2) {
		written = written[:len(written)-1]
	}
	return written
}

// written appends a value as JSON in which now and then a name stands twice.
func (m *maker) written(out []byte, value any) []byte {
	switch value := value.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				out = append(out, ", "...)
			}
			if m.chance(10) {
				out = append(append(append(out, marshal(name)...), ": "...), marshal(m.anything(1))...)
				out = append(out, ", "...)
			}
			out = m.written(append(append(out, marshal(name)...), ": "...), value[name])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i := range value {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = m.written(out, value[i])
		}
		return append(out, ']')
	}
	return append(out, marshal(value)...)
}
