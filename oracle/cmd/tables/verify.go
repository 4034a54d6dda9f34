package main

import (
	"fmt"
	"maps"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// wireType is what a field of a shape and type has on the wire.
func wireType(shape, kind string) protowire.Type {
	switch {
	case shape == "map":
		return protowire.BytesType // the entry's
	case kind == "bool" || kind == "i32" || kind == "i64":
		return protowire.VarintType
	case kind == "f64":
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}

// verify marshals a value of the type that has every field, and compares the
// numbers and wire types it finds with those that the tables are to say.
func verify(t reflect.Type, want map[int]protowire.Type) error {
	value := reflect.New(t)
	populate(value.Elem())
	marshaler, ok := value.Interface().(interface{ Marshal() ([]byte, error) })
	if !ok {
		return fmt.Errorf("%s has no protobuf form", t)
	}
	data, err := marshaler.Marshal()
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	got := map[int]protowire.Type{}
	for len(data) > 0 {
		number, wire, size := protowire.ConsumeField(data)
		if size < 0 {
			return fmt.Errorf("%s: %w", t, protowire.ParseError(size))
		}
		if _, again := got[int(number)]; again {
			return fmt.Errorf("%s writes field %d twice", t, number)
		}
		got[int(number)] = wire
		data = data[size:]
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%s writes %v, not %v", t, got, want)
	}
	return nil
}

// populate gives a struct's pointers, lists and maps one zero value each: that
// is all it takes for protobuf to write a field.
func populate(structure reflect.Value) {
	for i := range structure.NumField() {
		if !structure.Type().Field(i).IsExported() {
			continue
		}
		field := structure.Field(i)
		switch t := field.Type(); t.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(t.Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(t, 1, 1))
		case reflect.Map:
			field.Set(reflect.MakeMap(t))
			field.SetMapIndex(reflect.Zero(t.Key()), reflect.Zero(t.Elem()))
		}
	}
}
