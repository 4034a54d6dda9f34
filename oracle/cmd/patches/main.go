// Patches writes random documents and patches to stdout, with the results of
// applying the patches with the libraries of the API server. It is the reference
// for tests of patches.
//
//	patches [-n 100000] [-seed 1] [-index I,I,...] [-runs 1]
//
// A case depends only on the seed and its index, so a single case can be
// generated again. Its result may vary, because Go iterates over maps in random
// order: a patch with two faults can fail with either error. With -runs, the
// program applies each patch several times, and writes one record for each
// distinct result.
//
// The output consists of records without separators. A record has nine fields,
// each of which is a length (32 bits, big endian) followed by that many bytes:
//
//	topic                   strategic, json or merge, or one of them after "faults "
//	group, version, kind    of the document; the group is empty for the core group
//	index                   the decimal index of the case
//	document, patch         JSON; the patch may be malformed
//	outcome                 ok, panic, or the status code of the server's response
//	text                    the patched document or the error message; for the
//	                        "faults" topics, the strict decoding errors, one per line
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
	count := flag.Uint64("n", 100000, "number of cases")
	seed := flag.Uint64("seed", 1, "seed of the random cases")
	only := flag.String("index", "", "comma-separated indexes of the cases to generate")
	runs := flag.Int("runs", 1, "number of times to apply each patch")
	flag.Parse()
	if err := run(os.Stdout, *count, *seed, *only, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "patches:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, count, seed uint64, only string, runs int) error {
	jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024 // the limit of the API server
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
	stored := storedKinds(scheme)
	out := bufio.NewWriterSize(w, 1<<20)
	for _, index := range indices {
		random := rand.New(rand.NewPCG(seed, index))
		c := newCase(random, scheme, stored, index)
		seen := map[result]bool{}
		for range runs {
			r := c.apply()
			if seen[r] {
				continue
			}
			seen[r] = true
			if _, err := out.Write(c.record(index, r)); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// patchCase is a patch and the document that it is applied to.
type patchCase struct {
	topic           string
	kind            schema.GroupVersionKind
	object          runtime.Object // an empty object of the kind, for its type
	document, patch []byte
}

// result is the result of a case.
type result struct{ outcome, text string }

// newCase generates the case with the given index.
func newCase(random *rand.Rand, scheme *runtime.Scheme, stored []schema.GroupVersionKind, index uint64) patchCase {
	kind := pick(random, stored)
	if random.IntN(10) < 7 {
		kind = pick(random, commonKinds)
	}
	object, err := scheme.New(kind)
	if err != nil {
		panic(err) // the kind is registered in the scheme
	}
	c := patchCase{kind: kind, object: object}
	goType := reflect.TypeOf(object).Elem()
	g := &generator{Rand: random, budget: 60, long: random.IntN(25) == 0}
	document := g.document(goType)
	document["kind"], document["apiVersion"] = kind.Kind, kind.GroupVersion().String()
	g.addOddNames(document)
	c.document = marshal(document)
	switch index % 11 {
	case 0, 1, 2, 3, 4, 5:
		c.topic = "strategic"
		g.faulty = !g.long && random.IntN(100) < 15
		c.patch = marshal(g.strategicPatch(goType, document))
	case 6:
		c.topic = "strategic"
		c.patch = c.twoWay(g, document)
	case 7:
		c.topic = "strategic"
		c.patch = c.threeWay(g, document)
	case 8:
		c.topic = "json"
		c.patch = g.jsonPatch(document)
	case 9:
		c.topic = "merge"
		c.patch = g.mergePatch(document)
	case 10:
		c.topic = "faults " + pick(random, []string{"json", "merge", "strategic"})
		c.patch = g.faultyPatch(c.topic, document)
	}
	return c
}

// twoWay returns the patch that changes the document to a random variant.
func (c patchCase) twoWay(g *generator, document map[string]any) []byte {
	goType := reflect.TypeOf(c.object).Elem()
	modified := marshal(g.mutate(goType, document))
	patch, err := strategicpatch.CreateTwoWayMergePatch(c.document, modified, c.object)
	if err != nil {
		return []byte("{}")
	}
	return patch
}

// threeWay returns a patch like that of kubectl apply: the document is the live
// object, and the last applied and the new configuration are random variants.
func (c patchCase) threeWay(g *generator, document map[string]any) []byte {
	goType := reflect.TypeOf(c.object).Elem()
	original := g.mutate(goType, document)
	modified := g.mutate(goType, original)
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

// apply applies the patch like the API server.
func (c patchCase) apply() (r result) {
	defer func() {
		if problem := recover(); problem != nil {
			r = result{"panic", fmt.Sprint(problem)}
		}
	}()
	switch c.topic {
	case "strategic":
		return c.strategic()
	case "json":
		return c.jsonPatch()
	case "merge":
		patched, err := jsonpatch.MergePatch(c.document, c.patch)
		switch {
		case errors.Is(err, jsonpatch.ErrBadJSONPatch):
			return result{"400", err.Error()}
		case err != nil:
			return result{"500", err.Error()}
		}
		return result{"ok", string(patched)}
	default:
		return c.decodeStrictly()
	}
}

func (c patchCase) strategic() result {
	var document, patch map[string]any
	if err := json.Unmarshal(c.document, &document); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(c.patch, &patch); err != nil {
		return result{"400", err.Error()}
	}
	// Like the lists of the server, those of a deep copy have no spare capacity,
	// which affects the result of append.
	document, patch = runtime.DeepCopyJSON(document), runtime.DeepCopyJSON(patch)
	patched, err := strategicpatch.StrategicMergeMapPatch(document, patch, c.object)
	switch err {
	case nil:
		return result{"ok", string(marshal(patched))}
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList:
		return result{"400", err.Error()}
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return result{"422", err.Error()}
	}
	return result{"500", err.Error()}
}

func (c patchCase) jsonPatch() result {
	if !plainjson.Valid(c.patch) {
		return result{"400", "invalid JSON patch"} // the server's message for all syntax errors
	}
	patch, err := jsonpatch.DecodePatch(c.patch)
	if err != nil {
		return result{"400", err.Error()}
	}
	patched, err := patch.Apply(c.document)
	if err != nil {
		return result{"422", err.Error()}
	}
	return result{"ok", string(patched)}
}

// jsonPatchOp has the fields of the API server's type of the same name.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// decodeStrictly returns the errors of decoding the patch with strict field
// validation.
func (c patchCase) decodeStrictly() result {
	if !plainjson.Valid(c.patch) {
		return result{"400", "invalid JSON patch"}
	}
	var into any = &map[string]any{}
	strictPrefix, errorPrefix := "", "error decoding patch: "
	switch c.topic {
	case "faults json":
		into, strictPrefix = &[]jsonPatchOp{}, "json patch "
	case "faults strategic":
		errorPrefix = ""
	}
	strictErrs, err := strictjson.UnmarshalStrict(c.patch, into)
	if err != nil {
		return result{"400", errorPrefix + strings.ReplaceAll(err.Error(), "main.jsonPatchOp", "handlers.jsonPatchOp")}
	}
	var lines []string
	for _, strictErr := range strictErrs {
		lines = append(lines, strictPrefix+strictErr.Error())
	}
	return result{"ok", strings.Join(lines, "\n")}
}

func (c patchCase) record(index uint64, r result) []byte {
	var record []byte
	for _, field := range [][]byte{
		[]byte(c.topic), []byte(c.kind.Group), []byte(c.kind.Version), []byte(c.kind.Kind),
		strconv.AppendUint(nil, index, 10), c.document, c.patch, []byte(r.outcome), []byte(r.text),
	} {
		record = binary.BigEndian.AppendUint32(record, uint32(len(field)))
		record = append(record, field...)
	}
	return record
}

func marshal(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // values consist of JSON types
	}
	return data
}
