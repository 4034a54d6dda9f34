// Informer measures a client-go shared informer of pods with one index: what
// it costs to fill, to hold, and to follow.
//
//	informer --kubeconfig FILE [--resource pods] [--events N]
//
// It prints one line when the store is filled, one after two seconds of rest
// and, with --events, one when N updates have arrived since then:
//
//	client-go sync objects=N wall=1.234s cpu=1.234567s VmHWM: 1 kB VmRSS: 1 kB
//	client-go steady VmHWM: 1 kB VmRSS: 1 kB
//	client-go events=N wall=1.234s cpu=1.234567s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"watchkeeper/oracle/internal/kubeconfig"
	"watchkeeper/oracle/internal/spent"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the server")
	resource := flag.String("resource", "pods", "what to hold; pods is all there is")
	events := flag.Int64("events", 0, "how many updates to wait for")
	flag.Parse()
	if err := run(context.Background(), *path, *resource, *events); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, resource string, events int64) error {
	if resource != "pods" {
		return fmt.Errorf("cannot hold %q, only pods", resource)
	}
	client, err := kubeconfig.Client(path)
	if err != nil {
		return err
	}
	pods := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
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
	if events <= 0 {
		return nil
	}
	<-arrived
	fmt.Printf("client-go events=%d %s\n", events, began.Since())
	return nil
}
