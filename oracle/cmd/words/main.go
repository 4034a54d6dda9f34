// Words writes short texts and what Go reads in them to stdout, as an oracle for
// parsers and for questions about statuses.
//
//	words [-n 100000] [-seed 1] TOPIC
//
// A topic has the texts that are worth trying one by one, among them every short
// string of its tokens, and then n random ones, which lean towards what is nearly
// right. They depend on the seed alone.
//
// The stream is records back to back. A record is two fields, each a length (32
// bits, big endian) and as many bytes: a question, and Go's answer in JSON, which
// is null where Go refuses the question.
//
//	topic        question                         answer
//	labels       a label selector                 its canonical text, what it selects, exact values
//	expressions  a metav1.LabelSelector, in JSON  the same
//	fields       a field selector                 the same, and its terms
//	statuses     a metav1.Status, in JSON         the questions that it answers with yes, the delay
//	responses    an HTTP response, in JSON        the metav1.Status that a client makes of it
//	times        a metav1.Time                    its canonical text, seconds, nanoseconds
//	microtimes   a metav1.MicroTime               the same
//	versions     two resource versions, in JSON   how they compare: -1, 0 or 1
//	quantities   a resource.Quantity              its canonical text
//
// The first record of labels, expressions and fields has no question, and for an
// answer the sets that the selectors are matched with; what a selector selects is
// a 0 or a 1 for each of them.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

var topics = map[string]func(topic){
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
	count := flag.Int("n", 100_000, "random texts")
	seed := flag.Uint64("seed", 1, "what the random texts depend on")
	flag.Parse()
	write, ok := topics[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "words: a topic is one of", strings.Join(slices.Sorted(maps.Keys(topics)), ", "))
		os.Exit(2)
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	write(topic{rand.New(rand.NewPCG(*seed, 0)), *count, out})
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// topic is what the texts of a topic are made with, and where they go.
type topic struct {
	*rand.Rand
	count int
	out   io.Writer // its first error is kept, and is seen at the end
}

// record writes a question and its answer.
func (t topic) record(question string, answer any) {
	encoded, err := json.Marshal(answer)
	if err != nil {
		panic(err) // answers are texts, numbers, lists and maps
	}
	for _, field := range [][]byte{[]byte(question), encoded} {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(field)))
		t.out.Write(length[:])
		t.out.Write(field)
	}
}

// text is a question in JSON.
func text(question any) string {
	encoded, err := json.Marshal(question)
	if err != nil {
		panic(err) // as above
	}
	return string(encoded)
}
