// Patches writes random documents with random patches to stdout, and what the
// API server's libraries make of them, as an oracle for whatever applies patches.
//
//	patches [-n 100000] [-seed 1] [-index I,I,...] [-runs 1]
//
// A case depends on the seed and its index alone, so one can be made again
// without the others. What Go makes of it may depend on more: it walks maps in
// random order, so a patch with two faults has two answers. With -runs, a case
// is tried that often, and written once for each answer.
//
// The stream is records back to back. A record is nine fields, each a length
// (32 bits, big endian) and as many bytes:
//
//	topic                   strategic, json or merge; or with "faults " before it
//	group, version, kind    of the document; the core group is empty
//	index                   of the case, in digits
//	document, patch         in JSON, but the patch may be malformed
//	outcome                 ok, panic, or the status code that the server answers
//	text                    the patched document, or what the error says; of the
//	                        topics with faults, those of a strict reading, a line each
package main

import (
	"bufio"
	"encoding/binary"
	plainjson "encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	strictjson "sigs.k8s.io/json"
	"watchkeeper/oracle/internal/kinds"
)

func main() {
	count := flag.Uint64("n", 100000, "how many cases")
	seed := flag.Uint64("seed", 1, "what the cases depend on")
	only := flag.String("index", "", "only these cases, with commas between")
	runs := flag.Int("runs", 1, "how often to try a case")
	flag.Parse()
	if err := run(os.Stdout, *count, *seed, *only, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "patches:", err)
		os.Exit(1)
	}
}

func run(to io.Writer, count, seed uint64, only string, runs int) error {
	jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024 // as the server does
	var indices []uint64
	for index := range count {
		indices = append(indices, index)
	}
	if only != "" {
		indices = nil
		for _, digits := range strings.Split(only, ",") {
			index, err := strconv.ParseUint(digits, 10, 64)
			if err != nil {
				return err
			}
			indices = append(indices, index)
		}
	}
	scheme := kinds.Scheme()
	chosen := objects(scheme)
	out := bufio.NewWriterSize(to, 1<<20)
	for _, index := range indices {
		random := rand.New(rand.NewPCG(seed, index))
		made := newCase(random, scheme, chosen, index)
		seen := map[answer]bool{}
		for range runs {
			answer := made.answer()
			if seen[answer] {
				continue
			}
			seen[answer] = true
			if _, err := out.Write(made.record(index, answer)); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// A patch and what it is applied to.
type patchCase struct {
	topic           string
	kind            schema.GroupVersionKind
	object          runtime.Object // to tell the type; it is empty
	document, patch []byte
}

// What Go says of a case.
type answer struct{ outcome, text string }

func newCase(random *rand.Rand, scheme *runtime.Scheme, chosen []schema.GroupVersionKind, index uint64) patchCase {
	kind := pick(random, chosen)
	if random.IntN(10) < 7 {
		kind = pick(random, favourites)
	}
	object, err := scheme.New(kind)
	if err != nil {
		panic(err) // the scheme listed it
	}
	made := patchCase{kind: kind, object: object}
	goType := reflect.TypeOf(object).Elem()
	maker := &maker{Rand: random, budget: 60, long: random.IntN(25) == 0}
	document := maker.document(goType)
	document["kind"], document["apiVersion"] = kind.Kind, kind.GroupVersion().String()
	maker.withOddNames(document)
	made.document = marshal(document)
	switch index % 11 {
	case 0, 1, 2, 3, 4, 5:
		made.topic = "strategic"
		maker.faulty = !maker.long && random.IntN(100) < 15
		made.patch = marshal(maker.patch(goType, document))
	case 6:
		made.topic = "strategic"
		made.patch = made.twoWay(maker, document)
	case 7:
		made.topic = "strategic"
		made.patch = made.threeWay(maker, document)
	case 8:
		made.topic = "json"
		made.patch = maker.operations(document)
	case 9:
		made.topic = "merge"
		made.patch = maker.mergePatch(document)
	case 10:
		made.topic = "faults " + pick(random, []string{"json", "merge", "strategic"})
		made.patch = maker.sloppy(made.topic, document)
	}
	return made
}

// twoWay makes the patch that leads from the document to another.
func (c patchCase) twoWay(maker *maker, document map[string]any) []byte {
	goType := reflect.TypeOf(c.object).Elem()
	modified := marshal(maker.mutated(goType, document))
	patch, err := strategicpatch.CreateTwoWayMergePatch(c.document, modified, c.object)
	if err != nil {
		return []byte("{}")
	}
	return patch
}

// threeWay makes the patch that kubectl apply sends: the document is what is
// live, and both what was applied before and what is to be applied differ from it.
func (c patchCase) threeWay(maker *maker, document map[string]any) []byte {
	goType := reflect.TypeOf(c.object).Elem()
	original := maker.mutated(goType, document)
	modified := maker.mutated(goType, original)
	meta, err := strategicpatch.NewPatchMetaFromStruct(c.object)
	if err != nil {
		panic(err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(marshal(original), marshal(modified), c.document, meta, true)
	if err != nil {
		return []byte("{}")
	}
	return patch
}

func (c patchCase) answer() (made answer) {
	defer func() {
		if problem := recover(); problem != nil {
			made = answer{"panic", fmt.Sprint(problem)}
		}
	}()
	switch c.topic {
	case "strategic":
		return c.strategic()
	case "json":
		return c.json()
	case "merge":
		patched, err := jsonpatch.MergePatch(c.document, c.patch)
		switch {
		case errors.Is(err, jsonpatch.ErrBadJSONPatch):
			return answer{"400", err.Error()}
		case err != nil:
			return answer{"500", err.Error()}
		}
		return answer{"ok", string(patched)}
	default:
		return c.faults()
	}
}

func (c patchCase) strategic() answer {
	var document, patch map[string]any
	if err := json.Unmarshal(c.document, &document); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(c.patch, &patch); err != nil {
		return answer{"400", err.Error()}
	}
	// The copies have no room to spare in their lists, as the server's have none.
	document, patch = runtime.DeepCopyJSON(document), runtime.DeepCopyJSON(patch)
	patched, err := strategicpatch.StrategicMergeMapPatch(document, patch, c.object)
	switch err {
	case nil:
		return answer{"ok", string(marshal(patched))}
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList:
		return answer{"400", err.Error()}
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return answer{"422", err.Error()}
	}
	return answer{"500", err.Error()}
}

func (c patchCase) json() answer {
	if !plainjson.Valid(c.patch) {
		return answer{"400", "invalid JSON patch"} // what the server says of any syntax error
	}
	patch, err := jsonpatch.DecodePatch(c.patch)
	if err != nil {
		return answer{"400", err.Error()}
	}
	patched, err := patch.Apply(c.document)
	if err != nil {
		return answer{"422", err.Error()}
	}
	return answer{"ok", string(patched)}
}

// The fields of an operation, as the server has them.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// faults returns what the server finds when it reads the patch strictly.
func (c patchCase) faults() answer {
	if !plainjson.Valid(c.patch) {
		return answer{"400", "invalid JSON patch"}
	}
	var into any = &map[string]any{}
	prefix, refused := "", "error decoding patch: "
	switch c.topic {
	case "faults json":
		into, prefix = &[]jsonPatchOp{}, "json patch "
	case "faults strategic":
		refused = ""
	}
	found, err := strictjson.UnmarshalStrict(c.patch, into)
	if err != nil {
		return answer{"400", refused + strings.ReplaceAll(err.Error(), "main.jsonPatchOp", "handlers.jsonPatchOp")}
	}
	var lines []string
	for _, fault := range found {
		lines = append(lines, prefix+fault.Error())
	}
	return answer{"ok", strings.Join(lines, "\n")}
}

func (c patchCase) record(index uint64, answer answer) []byte {
	var record []byte
	for _, field := range [][]byte{
		[]byte(c.topic), []byte(c.kind.Group), []byte(c.kind.Version), []byte(c.kind.Kind),
		strconv.AppendUint(nil, index, 10), c.document, c.patch, []byte(answer.outcome), []byte(answer.text),
	} {
		record = binary.BigEndian.AppendUint32(record, uint32(len(field)))
		record = append(record, field...)
	}
	return record
}

func marshal(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was made of JSON types
	}
	return data
}
