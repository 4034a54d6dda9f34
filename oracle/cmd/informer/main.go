// Informer measures the time and memory that a client-go shared informer of pods
// with one index needs to sync, when idle, and to process updates.
//
//	informer --kubeconfig FILE [--resource pods] [--events N] [--select SELECTOR]
//
// It prints one line once the informer has synced, and one after two idle
// seconds. With --events, it prints a line after the next N updates; with
// --select, it prints the median time of a list by label selector:
//
//	client-go sync objects=N wall=1.234s cpu=1.234567s VmHWM: 1 kB VmRSS: 1 kB
//	client-go steady VmHWM: 1 kB VmRSS: 1 kB
//	client-go events=N wall=1.234s cpu=1.234567s
//	client-go select objects=N each=1.234us
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"watchkeeper/oracle/internal/kubeconfig"
	"watchkeeper/oracle/internal/rusage"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	resource := flag.String("resource", "pods", "resource to cache; only pods is supported")
	events := flag.Int64("events", 0, "number of updates to wait for")
	selector := flag.String("select", "", "label selector to list by at the end")
	drop := flag.Bool("drop-managed-fields", false, "drop managed fields before objects are stored")
	flag.Parse()
	if err := run(context.Background(), *path, *resource, *events, *selector, *drop); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, resource string, events int64, selector string, drop bool) error {
	if resource != "pods" {
		return fmt.Errorf("unsupported resource %q: only pods is supported", resource)
	}
	client, err := kubeconfig.Client(path)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods()
	pods := shared.Informer()
	if drop {
		err := pods.SetTransform(func(object any) (any, error) {
			if pod, ok := object.(*corev1.Pod); ok {
				pod.ManagedFields = nil
			}
			return object, nil
		})
		if err != nil {
			return err
		}
	}
	err = pods.AddIndexers(cache.Indexers{"node": func(object any) ([]string, error) {
		return []string{object.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return err
	}

	// Updates count only while remaining is positive.
	var remaining atomic.Int64
	received := make(chan struct{})
	handler, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) {
			if remaining.Load() > 0 && remaining.Add(-1) == 0 {
				close(received)
			}
		},
	})
	if err != nil {
		return err
	}

	start := rusage.Now()
	go pods.RunWithContext(ctx)
	<-handler.HasSyncedChecker().Done()
	fmt.Printf("client-go sync objects=%d %s %s\n",
		len(pods.GetStore().ListKeys()), start.Since(), rusage.Memory())

	<-time.After(2 * time.Second) // idle
	start = rusage.Now()
	remaining.Store(events)
	fmt.Printf("client-go steady %s\n", rusage.Memory())
	if events > 0 {
		<-received
		fmt.Printf("client-go events=%d %s\n", events, start.Since())
	}
	if selector != "" {
		return list(shared.Lister(), selector)
	}
	return nil
}

// list lists by label selector repeatedly, and prints the number of matching
// objects and the median time of a list.
func list(pods listers.PodLister, selector string) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	const lists = 101
	var times []time.Duration
	var objects int
	for range lists {
		start := time.Now()
		found, err := pods.List(parsed)
		if err != nil {
			return err
		}
		times, objects = append(times, time.Since(start)), len(found)
	}
	slices.Sort(times)
	fmt.Printf("client-go select objects=%d each=%.3fus\n", objects, float64(times[lists/2].Nanoseconds())/1e3)
	return nil
}
