// Client measures one job with client-go. `bench client` runs it.
//
//	client JOB --kubeconfig FILE [--compress] [--count N] [--concurrency N]
//
// The jobs are list-raw and list-raw-json (list all pods without decoding them),
// list-typed (list and decode them) and gets (get and decode single config
// maps). It prints one line:
//
//	client-go list-typed objects=N wall=1.234s cpu=1.234567s VmHWM: 1 kB
//	client-go gets=N wall=1.234s cpu=1.234567s p50=1us p99=1us VmHWM: 1 kB
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"watchkeeper/oracle/internal/kubeconfig"
	"watchkeeper/oracle/internal/rusage"
)

// Namespace and number of the config maps on the server.
const (
	namespace  = "gets"
	configMaps = 1000
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("missing job: list-raw, list-raw-json, list-typed or gets")
	}
	job := arguments[0]
	flags := flag.NewFlagSet(job, flag.ContinueOnError)
	path := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	compress := flags.Bool("compress", false, "accept compressed responses")
	count := flags.Int("count", 10_000, "number of config maps to get")
	concurrency := flags.Int("concurrency", 32, "number of concurrent requests")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	config, err := kubeconfig.Config(*path)
	if err != nil {
		return err
	}
	config.DisableCompression = !*compress
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// Connect before measuring.
	connections := 1
	if job == "gets" {
		connections = *concurrency
	}
	if _, err := getMany(ctx, client, connections, connections); err != nil {
		return err
	}

	start := rusage.Now()
	switch job {
	case "list-raw", "list-raw-json":
		accept := runtime.ContentTypeProtobuf
		if job == "list-raw-json" {
			accept = runtime.ContentTypeJSON
		}
		body, err := client.CoreV1().RESTClient().Get().Resource("pods").
			SetHeader("Accept", accept).Do(ctx).Raw()
		if err != nil {
			return err
		}
		cost, peak := start.Since(), rusage.Peak()
		objects, err := countItems(accept, body)
		if err != nil {
			return err
		}
		fmt.Printf("client-go %s objects=%d %s %s\n", job, objects, cost, peak)
	case "list-typed":
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		fmt.Printf("client-go %s objects=%d %s %s\n", job, len(pods.Items), start.Since(), rusage.Peak())
	case "gets":
		times, err := getMany(ctx, client, *count, *concurrency)
		if err != nil {
			return err
		}
		cost := start.Since()
		slices.Sort(times)
		percentile := func(percent int) int64 { return times[len(times)*percent/100].Microseconds() }
		fmt.Printf("client-go gets=%d %s p50=%dus p99=%dus %s\n",
			len(times), cost, percentile(50), percentile(99), rusage.Peak())
	default:
		return fmt.Errorf("unknown job %q", job)
	}
	return nil
}

// getMany gets count config maps with the given number of workers, and returns
// the duration of each request.
func getMany(ctx context.Context, client kubernetes.Interface, count, concurrency int) ([]time.Duration, error) {
	var next atomic.Int64
	var workers sync.WaitGroup
	times, errs := make([][]time.Duration, concurrency), make([]error, concurrency)
	for worker := range concurrency {
		workers.Go(func() {
			for {
				index := int(next.Add(1)) - 1
				if index >= count {
					return
				}
				name := fmt.Sprintf("small-%d", index%configMaps)
				start := time.Now()
				found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					errs[worker] = err
					return
				}
				times[worker] = append(times[worker], time.Since(start))
				if found.Name != name || found.Data == nil {
					errs[worker] = fmt.Errorf("incomplete config map %s", name)
					return
				}
			}
		})
	}
	workers.Wait()
	return slices.Concat(times...), errors.Join(errs...)
}

// countItems returns the number of items in an encoded list.
func countItems(accept string, body []byte) (int, error) {
	if accept == runtime.ContentTypeJSON {
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		err := json.NewDecoder(bytes.NewReader(body)).Decode(&list)
		return len(list.Items), err
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), body)
	if err != nil {
		return 0, err
	}
	pods, ok := object.(*corev1.PodList)
	if !ok {
		return 0, fmt.Errorf("unexpected type %T, want a pod list", object)
	}
	return len(pods.Items), nil
}
