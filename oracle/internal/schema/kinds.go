package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"watchkeeper/oracle/internal/kinds"
)

// Read returns the rows of all kinds in the schema tables, and the messages that
// they consist of, sorted by name.
func Read() ([]string, []Message, error) {
	rows, roots, err := kindRows(kinds.Scheme())
	if err != nil {
		return nil, nil, err
	}
	roots = append(roots, reflect.TypeFor[runtime.Unknown](), reflect.TypeFor[runtime.TypeMeta]())
	messages, err := describe(roots)
	return rows, messages, err
}

// kindRows returns the rows for all kinds, and their Go types.
func kindRows(scheme *runtime.Scheme) ([]string, []reflect.Type, error) {
	messages := map[string]string{} // message name by the rest of the row
	var roots []reflect.Type
	for gvk, goType := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !kinds.HasProtobuf(goType) {
			continue
		}
		group, version := gvk.Group, gvk.Version
		if goType.PkgPath() == metaPackage && group != metaGroup {
			instance, err := scheme.New(gvk)
			if err != nil {
				return nil, nil, err
			}
			if unversioned, _ := scheme.IsUnversioned(instance); !unversioned {
				group, version = "*", "*"
			}
		}
		if group == "" {
			group = "-"
		}
		name, err := messageName(goType)
		if err != nil {
			return nil, nil, err
		}
		row := fmt.Sprintf("kind %s %s %s", group, version, gvk.Kind)
		if other, taken := messages[row]; taken && other != name {
			return nil, nil, fmt.Errorf("conflicting messages for %q: %s and %s", row, name, other)
		}
		messages[row] = name
		roots = append(roots, goType)
	}
	var rows []string
	for row, name := range messages {
		rows = append(rows, row+" "+name)
	}
	slices.SortFunc(rows, func(a, b string) int {
		return slices.Compare(strings.Fields(a), strings.Fields(b))
	})
	return rows, roots, nil
}
