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

// filler sets random fields of an object to random values.
type filler struct{ *rand.Rand }

// maxDepth limits the depth of random fields.
const maxDepth = 12

// object fills random fields of an object, and always the required path.
func (f filler) object(value reflect.Value, required path) { f.structure(value, 0, required) }

// structure sets a few random fields of a struct. The probability decreases with
// the depth, so that objects stay small and every field is set sometimes.
func (f filler) structure(value reflect.Value, depth int, required path) {
	fields := fieldsOf(value.Type())
	probability := max(1.2, 3-0.5*float64(depth)) / float64(len(fields)+1)
	for _, i := range fields {
		switch {
		case len(required) > 0 && required[0] == i:
			f.value(value.Field(i), depth+1, required[1:])
		case f.Float64() < min(probability, 0.75):
			f.value(value.Field(i), depth+1, nil)
		}
	}
}

// value sets a value, and always the required path within it.
func (f filler) value(value reflect.Value, depth int, required path) {
	if depth > maxDepth && required == nil || f.special(value, depth) {
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		f.structure(value, depth, required)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		if len(required) > 0 || f.Float64() < 0.8 {
			f.value(value.Elem(), depth, required)
		}
	case reflect.Slice:
		size := f.size(required)
		value.Set(reflect.MakeSlice(value.Type(), size, size))
		for i := range size {
			f.value(value.Index(i), depth, required)
			required = nil
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for range f.size(required) {
			key, entry := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			key.SetString(f.text())
			if len(required) > 0 || f.Float64() < 0.9 {
				f.value(entry, depth, required)
			}
			value.SetMapIndex(key, entry)
			required = nil
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
	case reflect.Uint8: // an element of a byte slice
		value.SetUint(f.Uint64N(256))
	default:
		panic("unsupported type " + value.Type().String())
	}
}

// special sets a value whose type has a custom encoding. It returns false for
// other types.
func (f filler) special(value reflect.Value, depth int) bool {
	switch target := value.Addr().Interface().(type) {
	case *metav1.Time:
		*target = metav1.Time{Time: f.time()}
	case *metav1.MicroTime:
		*target = metav1.MicroTime{Time: f.time()}
	case *metav1.Duration:
		target.Duration = f.duration()
	case *resource.Quantity:
		*target = resource.MustParse(pick(f.Rand, quantities))
	case *intstr.IntOrString:
		*target = intstr.FromInt32(pick(f.Rand, int32s))
		if f.Float64() < 0.5 {
			*target = intstr.FromString(f.text())
		}
	case *metav1.FieldsV1:
		target.SetRawString(f.randomJSON(true))
	case *runtime.RawExtension:
		target.Raw = []byte(f.randomJSON(true))
	case *apiextensionsv1.JSON:
		target.Raw = []byte(f.randomJSON(false))
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if target.Allows = f.Float64() < 0.7; f.Float64() < 0.5 {
			// Decoding a schema from JSON sets Allows, so false would be lost.
			target.Allows, target.Schema = true, f.schema(depth)
		}
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if f.Float64() < 0.5 {
			target.Schema = f.schema(depth)
		} else {
			f.value(reflect.ValueOf(&target.JSONSchemas).Elem(), depth, nil)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if f.Float64() < 0.5 {
			target.Schema = f.schema(depth)
		} else {
			f.value(reflect.ValueOf(&target.Property).Elem(), depth, nil)
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

// size returns the size of a list or map: a small number, and not 0 if a path
// within it is required.
func (f filler) size(required path) int {
	if len(required) > 0 {
		return 1 + f.IntN(2)
	}
	return pick(f.Rand, []int{0, 1, 1, 1, 2, 3})
}
