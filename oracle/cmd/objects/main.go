// Objects writes random objects of every kind to stdout, in all encodings that Go
// produces for them. It is the reference for codec tests.
//
//	objects [-n 1000] [-seed 1] [-kinds REGEXP] [-index I]
//
// The objects are small and sparse, and favor values that codecs often get
// wrong: zeros and pointers to zeros, empty and absent values, extreme numbers
// and times, unusual spellings of quantities, and strings with many escapes. An
// object depends only on the seed, its kind and its index, so a single object
// can be generated again.
//
// The output consists of records without separators. A record has ten fields,
// each of which is a length (32 bits, big endian) followed by that many bytes:
//
//	group, version, kind    the kind; the group is empty for the core group
//	index                   the decimal index among the objects of the kind
//	pb                      Go's protobuf encoding, with its envelope
//	json_of_pb              Go's JSON encoding of the object decoded from pb
//	json                    JSON as a user might write it
//	pb_of_json              Go's protobuf encoding of the object decoded from json
//	json_of_json            Go's JSON encoding of the object decoded from json
//	json_of_pb_of_json      Go's JSON encoding of the object decoded from pb_of_json
//
// The last three are empty if Go fails to decode json. The last two differ if
// protobuf does not distinguish an empty value from an absent one. Go's JSON has
// no trailing newline.
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
	count := flag.Int("n", 1000, "number of objects of each kind")
	seed := flag.Uint64("seed", 1, "seed of the random objects")
	only := flag.String("kinds", "", "regular expression that selects kinds by GROUP/VERSION/KIND")
	one := flag.Int("index", -1, "generate only the object with this index, for each kind")
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

func run(w io.Writer, first, last int, seed uint64, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	codecs := newCodecs(kinds.Scheme())
	out := bufio.NewWriterSize(w, 1<<20)
	for _, kind := range selectKinds(codecs.scheme) {
		name := kind.Group + "/" + kind.Version + "/" + kind.Kind
		if !pattern.MatchString(name) {
			continue
		}
		hash := fnv.New64a()
		hash.Write([]byte(name))
		fields := paths(codecs.scheme.AllKnownTypes()[kind])
		for index := first; index < last; index++ {
			random := rand.New(rand.NewPCG(seed, hash.Sum64()+uint64(index)))
			var required path
			if index < len(fields) { // the first objects cover every field once
				required = fields[index]
			}
			record, err := codecs.record(kind, index, required, random)
			if err != nil {
				return fmt.Errorf("%s with index %d: %w", name, index, err)
			}
			if _, err := out.Write(record); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// lists are the list kinds to generate. Lists add little to the tests of their
// items, so a few are enough: one of messages, one of JSON schemas, one of raw
// items and one of metadata.
var lists = []string{"PodList", "CustomResourceDefinitionList", "List", "PartialObjectMetadataList"}

// selectKinds returns the kinds to generate, sorted.
func selectKinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var selected []schema.GroupVersionKind
	for kind, goType := range scheme.AllKnownTypes() {
		_, isList := goType.FieldByName("Items")
		inAllGroups := goType.PkgPath() == reflect.TypeFor[metav1.Status]().PkgPath() &&
			kind.Group != "" && kind.Group != metav1.GroupName
		switch {
		case kind.Version == runtime.APIVersionInternal:
		case !kinds.HasProtobuf(goType):
		case inAllGroups: // only in the core group
		case isList && !slices.Contains(lists, kind.Kind):
		default:
			selected = append(selected, kind)
		}
	}
	slices.SortFunc(selected, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.Group+"/"+a.Version+"/"+a.Kind, b.Group+"/"+b.Version+"/"+b.Kind)
	})
	return selected
}

// codecs encodes and decodes objects like the API server.
type codecs struct {
	scheme *runtime.Scheme
	json   runtime.Serializer
	pb     runtime.Serializer
}

func newCodecs(scheme *runtime.Scheme) codecs {
	return codecs{
		scheme: scheme,
		json:   json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}),
		pb:     protobuf.NewSerializer(scheme, scheme),
	}
}

// record returns the record of a random object in which the required path is set.
func (c codecs) record(kind schema.GroupVersionKind, index int, required path, random *rand.Rand) ([]byte, error) {
	object, err := c.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	filler{random}.object(reflect.ValueOf(object).Elem(), required)
	object.GetObjectKind().SetGroupVersionKind(kind)

	pb, err := encode(c.pb, object)
	if err != nil {
		return nil, err
	}
	jsonOfPB, err := c.jsonOf(pb, kind)
	if err != nil {
		return nil, err
	}

	userJSON := writer{filler{random}}.object(reflect.ValueOf(object).Elem(), kind)
	var pbOfJSON, jsonOfJSON, jsonOfPBOfJSON []byte
	if decoded, err := c.decode(c.json, userJSON, kind); err == nil {
		if pbOfJSON, err = encode(c.pb, decoded); err != nil {
			return nil, err
		}
		if jsonOfJSON, err = encode(c.json, decoded); err != nil {
			return nil, err
		}
		if jsonOfPBOfJSON, err = c.jsonOf(pbOfJSON, kind); err != nil {
			return nil, err
		}
	}

	var record []byte
	for _, field := range [][]byte{
		[]byte(kind.Group), []byte(kind.Version), []byte(kind.Kind), []byte(strconv.Itoa(index)),
		pb, trim(jsonOfPB), userJSON, pbOfJSON, trim(jsonOfJSON), trim(jsonOfPBOfJSON),
	} {
		record = binary.BigEndian.AppendUint32(record, uint32(len(field)))
		record = append(record, field...)
	}
	return record, nil
}

// trim removes the newline that the JSON serializer appends.
func trim(json []byte) []byte { return bytes.TrimSuffix(json, []byte("\n")) }

// jsonOf returns the JSON encoding of an object decoded from protobuf.
func (c codecs) jsonOf(pb []byte, kind schema.GroupVersionKind) ([]byte, error) {
	object, err := c.decode(c.pb, pb, kind)
	if err != nil {
		return nil, fmt.Errorf("failed to decode its protobuf encoding: %w", err)
	}
	return encode(c.json, object)
}

func encode(serializer runtime.Serializer, object runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	err := serializer.Encode(object, &out)
	return out.Bytes(), err
}

func (c codecs) decode(serializer runtime.Serializer, data []byte, kind schema.GroupVersionKind) (runtime.Object, error) {
	into, err := c.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	object, _, err := serializer.Decode(data, &kind, into)
	if err == nil && object != into {
		return nil, errors.New("decoded into another object")
	}
	return object, err
}
