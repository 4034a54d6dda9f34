package schema

import (
	"fmt"
	"maps"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// wireType returns the wire type of a field with the given SHAPE and TYPE.
func wireType(shape, kind string) protowire.Type {
	switch {
	case shape == "map":
		return protowire.BytesType // a map entry is a message
	case kind == "bool" || kind == "i32" || kind == "i64":
		return protowire.VarintType
	case kind == "f64":
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}

// verify marshals a value with all fields set, and compares the field numbers and
// wire types in the encoded bytes with the expected ones.
func verify(t reflect.Type, want map[int]protowire.Type) error {
	value := reflect.New(t)
	populate(value.Elem())
	marshaler, ok := value.Interface().(interface{ Marshal() ([]byte, error) })
	if !ok {
		return fmt.Errorf("%s has no protobuf encoding", t)
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
		if _, found := got[int(number)]; found {
			return fmt.Errorf("%s encodes field %d twice", t, number)
		}
		got[int(number)] = wire
		data = data[size:]
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%s has encoded fields %v, want %v", t, got, want)
	}
	return nil
}

// populate sets pointers to zero values, and adds one zero value to lists and
// maps. The generated marshalers encode all fields of such a struct.
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
