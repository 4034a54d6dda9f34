// Client measures one job of client-go. `bench client` runs it.
//
//	client JOB --kubeconfig FILE [--compress] [--count N] [--concurrency N]
//
// The jobs are list-raw and list-raw-json (all pods, undecoded), list-typed
// (decoded) and gets (config maps one by one, decoded). It prints one line:
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
	"watchkeeper/oracle/internal/spent"
)

// Where the config maps are, and how many.
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
		return errors.New("no job is named")
	}
	job := arguments[0]
	flags := flag.NewFlagSet(job, flag.ContinueOnError)
	path := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the server")
	compress := flags.Bool("compress", false, "whether the server may compress what it sends")
	count := flags.Int("count", 10_000, "how many objects to get")
	concurrency := flags.Int("concurrency", 32, "how many of them at once")
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
	warm := 1
	if job == "gets" {
		warm = *concurrency
	}
	if _, err := getMany(ctx, client, warm, warm); err != nil {
		return err
	}

	began := spent.Now()
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
		cost, peak := began.Since(), spent.Peak()
		objects, err := items(accept, body)
		if err != nil {
			return err
		}
		fmt.Printf("client-go %s objects=%d %s %s\n", job, objects, cost, peak)
	case "list-typed":
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		fmt.Printf("client-go %s objects=%d %s %s\n", job, len(pods.Items), began.Since(), spent.Peak())
	case "gets":
		times, err := getMany(ctx, client, *count, *concurrency)
		if err != nil {
			return err
		}
		cost := began.Since()
		slices.Sort(times)
		percentile := func(percent int) int64 { return times[len(times)*percent/100].Microseconds() }
		fmt.Printf("client-go gets=%d %s p50=%dus p99=%dus %s\n",
			len(times), cost, percentile(50), percentile(99), spent.Peak())
	default:
		return fmt.Errorf("%q is no job", job)
	}
	return nil
}

// getMany gets so many config maps with so many workers, and says how long
// each took.
func getMany(ctx context.Context, client kubernetes.Interface, count, concurrency int) ([]time.Duration, error) {
	var next atomic.Int64
	var workers sync.WaitGroup
	times, failures := make([][]time.Duration, concurrency), make([]error, concurrency)
	for worker := range concurrency {
		workers.Go(func() {
			for {
				index := int(next.Add(1)) - 1
				if index >= count {
					return
				}
				name := fmt.Sprintf("small-%d", index%configMaps)
				began := time.Now()
				found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					failures[worker] = err
					return
				}
				times[worker] = append(times[worker], time.Since(began))
				if found.Name != name || found.Data == nil {
					failures[worker] = fmt.Errorf("%s is not whole", name)
					return
				}
			}
		})
	}
	workers.Wait()
	return slices.Concat(times...), errors.Join(failures...)
}

// items counts the items of a list.
func items(accept string, body []byte) (int, error) {
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
		return 0, fmt.Errorf("no pods but a %T", object)
	}
	return len(pods.Items), nil
}
