// Queue measures client-go's work queue, one job a run:
//
//	queue hand-out [--keys N] [--workers N]
//	queue delay [--keys N]
//	queue follow --kubeconfig FILE [--keys N]
//
// hand-out: so many goroutines add keys, as many others take them and are done
// at once. delay: each key is added after a delay of its own. follow: a shared
// informer of config maps whose handler adds keys, and one worker; it prints
// "ready", and then waits for so many config maps that say when they were sent.
//
// It prints one line in the end:
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
	"watchkeeper/oracle/internal/spent"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("which job?"))
	}
	flags := flag.NewFlagSet("queue", flag.ExitOnError)
	keys := flags.Int("keys", 1_000_000, "how many keys")
	workers := flags.Int("workers", 1, "how many add keys, and how many work on them")
	path := flags.String("kubeconfig", "", "how to reach the server")
	_ = flags.Parse(os.Args[2:]) // it exits instead
	switch job := os.Args[1]; job {
	case "hand-out":
		handOut(*keys, *workers)
	case "delay":
		delay(*keys)
	case "follow":
		fail(follow(context.Background(), *path, *keys))
	default:
		fail(fmt.Errorf("no job %q", job))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func makeKeys(count int) []string {
	keys := make([]string, count)
	for number := range keys {
		keys[number] = fmt.Sprintf("team-%03d/worker-%07d", number%50, number)
	}
	return keys
}

func handOut(count, workers int) {
	keys := makeKeys(count)
	queue := workqueue.NewTyped[string]()
	var done atomic.Int64
	var adding, working sync.WaitGroup
	began := spent.Now()
	for worker := range workers {
		working.Go(func() {
			var mine int64
			for {
				key, ended := queue.Get()
				if ended {
					break
				}
				queue.Done(key)
				mine++
			}
			done.Add(mine)
		})
		part := keys[count*worker/workers : count*(worker+1)/workers]
		adding.Go(func() {
			for _, key := range part {
				queue.Add(key)
			}
		})
	}
	adding.Wait()
	queue.ShutDownWithDrain()
	since := began.Since()
	working.Wait()
	if done.Load() != int64(count) {
		fail(fmt.Errorf("%d of %d keys were handed out", done.Load(), count))
	}
	fmt.Printf("client-go hand-out keys=%d %s\n", count, since)
}

// due is a key with the moment at which it is due.
type due struct {
	key string
	at  time.Time
}

func delay(count int) {
	keys := makeKeys(count)
	queue := workqueue.NewTypedDelayingQueue[due]()
	late := make([]time.Duration, 0, count)
	var working sync.WaitGroup
	began := spent.Now()
	working.Go(func() {
		for len(late) < count {
			key, _ := queue.Get()
			late = append(late, time.Since(key.at))
			queue.Done(key)
		}
	})
	for number, key := range keys {
		delay := time.Duration(number*7919%1_000_003%1_000_000) * time.Microsecond
		queue.AddAfter(due{key, time.Now().Add(delay)}, delay)
	}
	working.Wait()
	fmt.Printf("client-go delay keys=%d %s %s\n", count, began.Since(), percentiles(late))
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
	began := spent.Now()
	for len(late) < count {
		key, _ := queue.Get()
		namespace, name, err := cache.SplitMetaNamespaceKey(key)
		if err != nil {
			return err
		}
		if found, err := shared.Lister().ConfigMaps(namespace).Get(name); err == nil {
			if sent, err := strconv.ParseInt(found.Data["sent"], 10, 64); err == nil {
				if len(late) == 0 {
					began = spent.Now()
				}
				late = append(late, time.Duration(time.Now().UnixNano()-sent))
			}
		}
		queue.Forget(key)
		queue.Done(key)
	}
	fmt.Printf("client-go follow keys=%d %s %s\n", count, began.Since(), percentiles(late))
	return nil
}

func percentiles(late []time.Duration) string {
	slices.Sort(late)
	at := func(part int) int64 { return late[len(late)*part/100].Microseconds() }
	return fmt.Sprintf("p50=%dus p99=%dus", at(50), at(99))
}
