package main

import (
	"math/rand/v2"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler sets some of an object's fields.
type filler struct{ *rand.Rand }

// deepest is where an object ends, however lucky its fields are.
const deepest = 12

// object fills an object by chance, except that the path is always there.
func (f filler) object(value reflect.Value, to path) { f.structure(value, 0, to) }

// structure sets a few fields of a struct, fewer the deeper it lies, so that an
// object stays small and every field still has its turn.
func (f filler) structure(value reflect.Value, depth int, to path) {
	fields := fieldsOf(value.Type())
	chance := max(1.2, 3-0.5*float64(depth)) / float64(len(fields)+1)
	for _, i := range fields {
		switch {
		case len(to) > 0 && to[0] == i:
			f.value(value.Field(i), depth+1, to[1:])
		case f.Float64() < min(chance, 0.75):
			f.value(value.Field(i), depth+1, nil)
		}
	}
}

func (f filler) value(value reflect.Value, depth int, to path) {
	if depth > deepest && to == nil || f.special(value, depth) {
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		f.structure(value, depth, to)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		if len(to) > 0 || f.Float64() < 0.8 {
			f.value(value.Elem(), depth, to)
		}
	case reflect.Slice:
		size := f.size(to)
		value.Set(reflect.MakeSlice(value.Type(), size, size))
		for i := range size {
			f.value(value.Index(i), depth, to)
			to = nil
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for range f.size(to) {
			key, entry := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			key.SetString(f.text())
			if len(to) > 0 || f.Float64() < 0.9 {
				f.value(entry, depth, to)
			}
			value.SetMapIndex(key, entry)
			to = nil
		}
	case reflect.String:
		value.SetString(f.text())
	case reflect.Bool:
		value.SetBool(f.Float64() < 0.7)
	case reflect.Int32:
		value.SetInt(int64(pick(f.Rand, int32s)))
	case reflect.Int64:
		value.SetInt(pick(f.Rand, int64s))
	case reflect.Float64:
		value.SetFloat(pick(f.Rand, floats))
	case reflect.Uint8: // one of a list that is bytes
		value.SetUint(f.Uint64N(256))
	default:
		panic("no values of type " + value.Type().String())
	}
}

// special sets a value of a type that has forms of its own.
func (f filler) special(value reflect.Value, depth int) bool {
	switch at := value.Addr().Interface().(type) {
	case *metav1.Time:
		*at = metav1.Time{Time: f.time()}
	case *metav1.MicroTime:
		*at = metav1.MicroTime{Time: f.time()}
	case *metav1.Duration:
		at.Duration = f.duration()
	case *resource.Quantity:
		*at = resource.MustParse(pick(f.Rand, quantities))
	case *intstr.IntOrString:
		*at = intstr.FromInt32(pick(f.Rand, int32s))
		if f.Float64() < 0.5 {
			*at = intstr.FromString(f.text())
		}
	case *metav1.FieldsV1:
		at.SetRawString(f.tree(false))
	case *runtime.RawExtension:
		at.Raw = []byte(f.tree(false))
	case *apiextensionsv1.JSON:
		at.Raw = []byte(f.tree(true))
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if at.Allows = f.Float64() < 0.7; f.Float64() < 0.5 {
			// The other three pairs cannot be told apart in JSON.
			at.Allows, at.Schema = true, f.schema(depth)
		}
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if f.Float64() < 0.5 {
			at.Schema = f.schema(depth)
		} else {
			f.value(reflect.ValueOf(&at.JSONSchemas).Elem(), depth, nil)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if f.Float64() < 0.5 {
			at.Schema = f.schema(depth)
		} else {
			f.value(reflect.ValueOf(&at.Property).Elem(), depth, nil)
		}
	default:
		return false
	}
	return true
}

func (f filler) schema(depth int) *apiextensionsv1.JSONSchemaProps {
	schema := &apiextensionsv1.JSONSchemaProps{}
	f.value(reflect.ValueOf(schema).Elem(), depth+1, nil)
	return schema
}

// size of a list or map that is there: often empty, never long.
func (f filler) size(to path) int {
	if len(to) > 0 {
		return 1 + f.IntN(2)
	}
	return pick(f.Rand, []int{0, 1, 1, 1, 2, 3})
}
