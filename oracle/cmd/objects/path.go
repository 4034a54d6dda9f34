package main

import (
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"watchkeeper/oracle/internal/kinds"
)

// path identifies a field within a type by the indexes of the fields that lead to
// it. It passes through pointers, lists and maps.
type path []int

// paths returns a shortest path to each field of each struct that is reachable
// from a type. Random filling alone would rarely reach the deep ones.
func paths(root reflect.Type) []path {
	var found []path
	visited := map[reflect.Type]bool{root: true}
	type node struct {
		goType reflect.Type
		path   path
	}
	for queue := []node{{root, nil}}; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for _, i := range fieldsOf(parent.goType) {
			field := append(slices.Clone(parent.path), i)
			found = append(found, field)
			inner := parent.goType.Field(i).Type
			for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, inner.Kind()) {
				inner = inner.Elem()
			}
			// A type with custom JSON counts as a single value.
			custom := reflect.PointerTo(inner).Implements(reflect.TypeFor[json.Unmarshaler]())
			if inner.Kind() == reflect.Struct && !custom && !visited[inner] {
				visited[inner] = true
				queue = append(queue, node{inner, field})
			}
		}
	}
	return found
}

// fieldsOf returns the indexes of the fields that are serialized to JSON, except
// TypeMeta.
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
