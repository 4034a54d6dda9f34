// Queue measures client-go's work queue. Each run performs one job:
//
//	queue hand-out [--keys N] [--workers N]
//	queue delay [--keys N]
//	queue follow --kubeconfig FILE [--keys N]
//
// The jobs are:
//
//   - hand-out: --workers goroutines add keys, and as many others get them and
//     mark them as done.
//   - delay: adds each key with a different delay.
//   - follow: the handler of a shared informer of config maps adds keys for one
//     worker. Prints "ready" once the informer has synced, and then waits for
//     --keys config maps with the time at which they were sent.
//
// It prints one line at the end:
//
//	client-go hand-out keys=N wall=1.234s cpu=1.234567s
//	client-go delay keys=N wall=1.234s cpu=1.234567s p50=12us p99=345us
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"watchkeeper/oracle/internal/kubeconfig"
	"watchkeeper/oracle/internal/rusage"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("missing job: hand-out, delay or follow"))
	}
	flags := flag.NewFlagSet("queue", flag.ExitOnError)
	keys := flags.Int("keys", 1_000_000, "number of keys")
	workers := flags.Int("workers", 1, "number of goroutines that add keys, and of workers")
	path := flags.String("kubeconfig", "", "path of the kubeconfig")
	_ = flags.Parse(os.Args[2:]) // exits on an error
	switch job := os.Args[1]; job {
	case "hand-out":
		handOut(*keys, *workers)
	case "delay":
		delay(*keys)
	case "follow":
		fail(follow(context.Background(), *path, *keys))
	default:
		fail(fmt.Errorf("unknown job %q", job))
	}
}

// fail exits if err is not nil.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func makeKeys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("team-%03d/worker-%07d", i%50, i)
	}
	return keys
}

func handOut(count, workers int) {
	keys := makeKeys(count)
	queue := workqueue.NewTyped[string]()
	var done atomic.Int64
	var producers, consumers sync.WaitGroup
	start := rusage.Now()
	for worker := range workers {
		consumers.Go(func() {
			var handled int64
			for {
				key, shutdown := queue.Get()
				if shutdown {
					break
				}
				queue.Done(key)
				handled++
			}
			done.Add(handled)
		})
		part := keys[count*worker/workers : count*(worker+1)/workers]
		producers.Go(func() {
			for _, key := range part {
				queue.Add(key)
			}
		})
	}
	producers.Wait()
	queue.ShutDownWithDrain()
	cost := start.Since()
	consumers.Wait()
	if done.Load() != int64(count) {
		fail(fmt.Errorf("%d of %d keys were handed out", done.Load(), count))
	}
	fmt.Printf("client-go hand-out keys=%d %s\n", count, cost)
}

// delayedKey is a key and the time at which it is due.
type delayedKey struct {
	key string
	due time.Time
}

func delay(count int) {
	keys := makeKeys(count)
	queue := workqueue.NewTypedDelayingQueue[delayedKey]()
	late := make([]time.Duration, 0, count)
	var worker sync.WaitGroup
	start := rusage.Now()
	worker.Go(func() {
		for len(late) < count {
			key, _ := queue.Get()
			late = append(late, time.Since(key.due))
			queue.Done(key)
		}
	})
	for i, key := range keys {
		delay := time.Duration(i*7919%1_000_003%1_000_000) * time.Microsecond
		queue.AddAfter(delayedKey{key, time.Now().Add(delay)}, delay)
	}
	worker.Wait()
	fmt.Printf("client-go delay keys=%d %s %s\n", count, start.Since(), percentiles(late))
	queue.ShutDown()
}

func follow(ctx context.Context, path string, count int) error {
	client, err := kubeconfig.Client(path)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0).Core().V1().ConfigMaps()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	handler, err := shared.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	if err != nil {
		return err
	}
	go shared.Informer().RunWithContext(ctx)
	<-handler.HasSyncedChecker().Done()
	fmt.Println("ready")

	var late []time.Duration
	start := rusage.Now()
	for len(late) < count {
		key, _ := queue.Get()
		namespace, name, err := cache.SplitMetaNamespaceKey(key)
		if err != nil {
			return err
		}
		if found, err := shared.Lister().ConfigMaps(namespace).Get(name); err == nil {
			if sent, err := strconv.ParseInt(found.Data["sent"], 10, 64); err == nil {
				if len(late) == 0 {
					start = rusage.Now()
				}
				late = append(late, time.Duration(time.Now().UnixNano()-sent))
			}
		}
		queue.Forget(key)
		queue.Done(key)
	}
	fmt.Printf("client-go follow keys=%d %s %s\n", count, start.Since(), percentiles(late))
	return nil
}

func percentiles(late []time.Duration) string {
	slices.Sort(late)
	percentile := func(percent int) int64 { return late[len(late)*percent/100].Microseconds() }
	return fmt.Sprintf("p50=%dus p99=%dus", percentile(50), percentile(99))
}
