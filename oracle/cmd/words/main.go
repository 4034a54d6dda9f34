// Words writes short texts to stdout, with the results of parsing them in Go. It
// is the reference for tests of parsers and of predicates on statuses.
//
//	words [-n 100000] [-seed 1] TOPIC
//
// For most topics it first writes fixed inputs, among them all short
// combinations of the topic's tokens. Then it writes about n random ones, many
// of which are almost valid. The output depends only on the seed.
//
// The output consists of records without separators. A record has two fields,
// each of which is a length (32 bits, big endian) followed by that many bytes:
// the input, and Go's result in JSON, which is null if Go rejects the input.
//
//	topic        input                            result
//	labels       a label selector                 canonical text, matches, exact values
//	expressions  a metav1.LabelSelector, in JSON  the same
//	fields       a field selector                 the same, and its requirements
//	statuses     a metav1.Status, in JSON         predicates that are true, suggested delay
//	responses    an HTTP response, in JSON        the metav1.Status that client-go returns
//	times        a metav1.Time                    canonical text, seconds, nanoseconds
//	microtimes   a metav1.MicroTime               the same
//	versions     two resource versions, in JSON   the result of comparing them: -1, 0 or 1
//	quantities   a resource.Quantity              canonical text
//
// The first record of labels, expressions and fields has an empty input. Its
// result is a list of label or field sets. The matches of a selector are a string
// with a 0 or a 1 for each of these sets.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

var topics = map[string]func(generator){
	"labels":      labelSelectors,
	"expressions": labelExpressions,
	"fields":      fieldSelectors,
	"statuses":    statuses,
	"responses":   responses,
	"times":       times,
	"microtimes":  microTimes,
	"versions":    versions,
	"quantities":  quantities,
}

func main() {
	count := flag.Int("n", 100_000, "number of random inputs")
	seed := flag.Uint64("seed", 1, "seed of the random inputs")
	flag.Parse()
	generate, ok := topics[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: words [-n N] [-seed SEED] TOPIC")
		fmt.Fprintln(os.Stderr, "topics:", strings.Join(slices.Sorted(maps.Keys(topics)), ", "))
		os.Exit(2)
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	generate(generator{rand.New(rand.NewPCG(*seed, 0)), *count, out})
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// generator generates the records of a topic.
type generator struct {
	*rand.Rand
	count int
	out   *bufio.Writer // remembers its first error until Flush
}

// record writes an input and its result.
func (g generator) record(input string, result any) {
	encoded, err := json.Marshal(result)
	if err != nil {
		panic(err) // results consist of JSON types
	}
	for _, field := range [][]byte{[]byte(input), encoded} {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(field)))
		g.out.Write(length[:])
		g.out.Write(field)
	}
}

// text returns an input in JSON.
func text(input any) string {
	encoded, err := json.Marshal(input)
	if err != nil {
		panic(err) // inputs consist of JSON types
	}
	return string(encoded)
}
