// Informer measures a client-go shared informer of pods with one index: what
// it costs to fill, to hold, and to follow.
//
//	informer --kubeconfig FILE [--resource pods] [--events N] [--select SELECTOR]
//
// It prints one line when the store is filled, one after two seconds of rest
// and, with --events, one when N updates have arrived since then; with --select
// one in the end of what its lister takes to list by a label:
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
	"watchkeeper/oracle/internal/spent"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the server")
	resource := flag.String("resource", "pods", "what to hold; pods is all there is")
	events := flag.Int64("events", 0, "how many updates to wait for")
	selector := flag.String("select", "", "a label by which to list in the end")
	drop := flag.Bool("drop-managed-fields", false, "whether a transform drops them before they are stored")
	flag.Parse()
	if err := run(context.Background(), *path, *resource, *events, *selector, *drop); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, resource string, events int64, selector string, drop bool) error {
	if resource != "pods" {
		return fmt.Errorf("cannot hold %q, only pods", resource)
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

	// Updates are counted from the moment that somebody waits for them.
	var left atomic.Int64
	arrived := make(chan struct{})
	handler, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) {
			if left.Load() > 0 && left.Add(-1) == 0 {
				close(arrived)
			}
		},
	})
	if err != nil {
		return err
	}

	began := spent.Now()
	go pods.RunWithContext(ctx)
	<-handler.HasSyncedChecker().Done()
	fmt.Printf("client-go sync objects=%d %s %s\n",
		len(pods.GetStore().ListKeys()), began.Since(), spent.Memory())

	<-time.After(2 * time.Second) // the rest that the next line is about
	began = spent.Now()
	left.Store(events)
	fmt.Printf("client-go steady %s\n", spent.Memory())
	if events > 0 {
		<-arrived
		fmt.Printf("client-go events=%d %s\n", events, began.Since())
	}
	if selector != "" {
		return list(shared.Lister(), selector)
	}
	return nil
}

// list lists by a label over and over, and prints how long half of the lists
// take at most.
func list(pods listers.PodLister, selector string) error {
	chosen, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	const lists = 101
	var times []time.Duration
	var objects int
	for range lists {
		began := time.Now()
		found, err := pods.List(chosen)
		if err != nil {
			return err
		}
		times, objects = append(times, time.Since(began)), len(found)
	}
	slices.Sort(times)
	fmt.Printf("client-go select objects=%d each=%.3fus\n", objects, float64(times[lists/2].Nanoseconds())/1e3)
	return nil
}
