package main

import (
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"watchkeeper/oracle/internal/kinds"
)

// path leads to a field within a type: the index of a field of the struct, then
// of one of the struct in there, through pointers, lists and maps.
type path []int

// paths returns a shortest path to each field of each struct that the type
// holds. Chance alone would hardly ever come to the deep ones.
func paths(of reflect.Type) []path {
	var found []path
	met := map[reflect.Type]bool{of: true}
	type place struct {
		at reflect.Type
		to path
	}
	for queue := []place{{of, nil}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		for _, i := range fieldsOf(here.at) {
			to := append(slices.Clone(here.to), i)
			found = append(found, to)
			inner := here.at.Field(i).Type
			for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, inner.Kind()) {
				inner = inner.Elem()
			}
			// What writes its own JSON is one value to us, whatever is in it.
			own := reflect.PointerTo(inner).Implements(reflect.TypeFor[json.Unmarshaler]())
			if inner.Kind() == reflect.Struct && !own && !met[inner] {
				met[inner] = true
				queue = append(queue, place{inner, to})
			}
		}
	}
	return found
}

// fieldsOf returns the indexes of the fields that JSON knows, but for the kind
// and version.
func fieldsOf(structure reflect.Type) []int {
	var fields []int
	for i := range structure.NumField() {
		field := structure.Field(i)
		if name, _ := kinds.JSONName(field); name != "-" && field.Type != reflect.TypeFor[metav1.TypeMeta]() {
			fields = append(fields, i)
		}
	}
	return fields
}
