// Objects writes random objects of every kind to stdout, each in the forms that
// Go gives it, as an oracle for codecs.
//
//	objects [-n 1000] [-seed 1] [-kinds REGEXP] [-index I]
//
// The objects are small and sparse, and lean towards what codecs get wrong:
// zeros and pointers to zeros, empty against absent, extremes of numbers and
// times, odd spellings of quantities, strings full of escapes. An object depends
// on the seed, its kind and its index alone, so one can be made again without
// the others.
//
// The stream is records back to back. A record is ten fields, each a length
// (32 bits, big endian) and as many bytes:
//
//	group, version, kind    of the object; the core group is empty
//	index                   of the object among those of its kind, in digits
//	pb                      Go's protobuf of the object, with its envelope
//	json_of_pb              Go's JSON of what it decodes from pb
//	json                    the object as a user might have written it
//	pb_of_json              Go's protobuf of what it decodes from json
//	json_of_json            Go's JSON of what it decodes from json
//	json_of_pb_of_json      Go's JSON of what it decodes from pb_of_json
//
// The last three are empty where Go refuses json. The last two differ where
// protobuf cannot tell empty from absent. Go's JSON is without the line feed
// that its encoder ends on.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"watchkeeper/oracle/internal/kinds"
)

func main() {
	count := flag.Int("n", 1000, "objects of each kind")
	seed := flag.Uint64("seed", 1, "what the objects depend on")
	only := flag.String("kinds", "", "a regular expression; only kinds GROUP/VERSION/KIND that match it")
	one := flag.Int("index", -1, "only the object of that index of each kind")
	flag.Parse()
	first, last := 0, *count
	if *one >= 0 {
		first, last = *one, *one+1
	}
	if err := run(os.Stdout, first, last, *seed, *only); err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}

func run(to io.Writer, first, last int, seed uint64, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	forms := newForms(kinds.Scheme())
	out := bufio.NewWriterSize(to, 1<<20)
	for _, kind := range selected(forms.scheme) {
		name := kind.Group + "/" + kind.Version + "/" + kind.Kind
		if !pattern.MatchString(name) {
			continue
		}
		hash := fnv.New64a()
		hash.Write([]byte(name))
		ways := paths(forms.scheme.AllKnownTypes()[kind])
		for index := first; index < last; index++ {
			random := rand.New(rand.NewPCG(seed, hash.Sum64()+uint64(index)))
			var way path
			if index < len(ways) { // then one field is not left to chance
				way = ways[index]
			}
			record, err := forms.record(kind, index, way, random)
			if err != nil {
				return fmt.Errorf("%s number %d: %w", name, index, err)
			}
			if _, err := out.Write(record); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// A list is a repetition of what its items show already, so a few will do: one
// of bare messages, one of custom schemas, one of raw items, one of metadata.
var lists = []string{"PodList", "CustomResourceDefinitionList", "List", "PartialObjectMetadataList"}

// selected returns the kinds to make objects of, sorted.
func selected(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var chosen []schema.GroupVersionKind
	for kind, goType := range scheme.AllKnownTypes() {
		_, holdsItems := goType.FieldByName("Items")
		everywhere := goType.PkgPath() == reflect.TypeFor[metav1.Status]().PkgPath() &&
			kind.Group != "" && kind.Group != metav1.GroupName
		switch {
		case kind.Version == runtime.APIVersionInternal:
		case !kinds.HasProtobuf(goType):
		case everywhere: // the core group's stands for all
		case holdsItems && !slices.Contains(lists, kind.Kind):
		default:
			chosen = append(chosen, kind)
		}
	}
	slices.SortFunc(chosen, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.Group+"/"+a.Version+"/"+a.Kind, b.Group+"/"+b.Version+"/"+b.Kind)
	})
	return chosen
}

// forms turns objects into bytes and back as the API server does.
type forms struct {
	scheme *runtime.Scheme
	json   runtime.Serializer
	pb     runtime.Serializer
}

func newForms(scheme *runtime.Scheme) forms {
	return forms{
		scheme: scheme,
		json:   json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}),
		pb:     protobuf.NewSerializer(scheme, scheme),
	}
}

func (f forms) record(kind schema.GroupVersionKind, index int, way path, random *rand.Rand) ([]byte, error) {
	object, err := f.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	filler{random}.object(reflect.ValueOf(object).Elem(), way)
	object.GetObjectKind().SetGroupVersionKind(kind)

	pb, err := encode(f.pb, object)
	if err != nil {
		return nil, err
	}
	jsonOfPB, err := f.jsonOf(pb, kind)
	if err != nil {
		return nil, err
	}

	written := writer{filler{random}}.object(reflect.ValueOf(object).Elem(), kind)
	var pbOfJSON, jsonOfJSON, jsonOfPBOfJSON []byte
	if ofJSON, err := f.decode(f.json, written, kind); err == nil {
		if pbOfJSON, err = encode(f.pb, ofJSON); err != nil {
			return nil, err
		}
		if jsonOfJSON, err = encode(f.json, ofJSON); err != nil {
			return nil, err
		}
		if jsonOfPBOfJSON, err = f.jsonOf(pbOfJSON, kind); err != nil {
			return nil, err
		}
	}

	var record []byte
	for _, field := range [][]byte{
		[]byte(kind.Group), []byte(kind.Version), []byte(kind.Kind), []byte(strconv.Itoa(index)),
		pb, trim(jsonOfPB), written, pbOfJSON, trim(jsonOfJSON), trim(jsonOfPBOfJSON),
	} {
		record = binary.BigEndian.AppendUint32(record, uint32(len(field)))
		record = append(record, field...)
	}
	return record, nil
}

func trim(json []byte) []byte { return bytes.TrimSuffix(json, []byte("\n")) }

func (f forms) jsonOf(pb []byte, kind schema.GroupVersionKind) ([]byte, error) {
	object, err := f.decode(f.pb, pb, kind)
	if err != nil {
		return nil, fmt.Errorf("from its own protobuf: %w", err)
	}
	return encode(f.json, object)
}

func encode(by runtime.Serializer, object runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	err := by.Encode(object, &out)
	return out.Bytes(), err
}

func (f forms) decode(by runtime.Serializer, data []byte, kind schema.GroupVersionKind) (runtime.Object, error) {
	into, err := f.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	object, _, err := by.Decode(data, &kind, into)
	if err == nil && object != into {
		return nil, errors.New("decoded into something else")
	}
	return object, err
}
