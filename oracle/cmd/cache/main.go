// Cache holds the config maps of a namespace in a client-go shared informer,
// and says what it holds when it is asked.
//
//	cache --kubeconfig FILE --namespace NAMESPACE
//
// It prints "synced" when the store is filled. Then, for each line
//
//	NAME VERSION COUNT
//
// on stdin, it waits until it holds that object in that version and so many
// objects in all (any number if that is 0), and prints what it holds and which
// requests that took:
//
//	NAMESPACE/NAME VERSION
//	end lists=N initial=N watches=N
//
// where initial counts the watches that begin with the whole state. It ends
// when stdin does.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"watchkeeper/oracle/internal/kubeconfig"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the server")
	namespace := flag.String("namespace", "default", "whose config maps to hold")
	flag.Parse()
	if err := run(context.Background(), *path, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, namespace string) error {
	config, err := kubeconfig.Config(path)
	if err != nil {
		return err
	}
	var sent requests
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return counting{&sent, next}
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()

	// Told of every change, once it can be read.
	var lock sync.Mutex
	changed := sync.NewCond(&lock)
	tell := func() {
		lock.Lock()
		defer lock.Unlock()
		changed.Broadcast()
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	<-handler.HasSyncedChecker().Done()
	fmt.Println("synced")

	store := informer.GetStore()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name, version string
		var count int
		if _, err := fmt.Sscan(lines.Text(), &name, &version, &count); err != nil {
			return fmt.Errorf("cannot read %q: %w", lines.Text(), err)
		}
		lock.Lock()
		for !holds(store, namespace+"/"+name, version, count) {
			changed.Wait()
		}
		lock.Unlock()
		print(store, &sent)
	}
	return lines.Err()
}

func holds(store cache.Store, key, version string, count int) bool {
	object, there, err := store.GetByKey(key)
	return err == nil && there && object.(*corev1.ConfigMap).ResourceVersion == version &&
		(count == 0 || len(store.ListKeys()) == count)
}

func print(store cache.Store, sent *requests) {
	var held []string
	for _, object := range store.List() {
		configMap := object.(*corev1.ConfigMap)
		held = append(held, fmt.Sprintf("%s/%s %s", configMap.Namespace, configMap.Name, configMap.ResourceVersion))
	}
	slices.Sort(held)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, line := range held {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "end lists=%d initial=%d watches=%d\n",
		sent.lists.Load(), sent.initial.Load(), sent.watches.Load())
}

// requests counts what was sent.
type requests struct {
	lists, initial, watches atomic.Int64
}

// counting sends requests, and counts them.
type counting struct {
	sent *requests
	next http.RoundTripper
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	switch query := request.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		c.sent.initial.Add(1)
	case query.Has("watch"):
		c.sent.watches.Add(1)
	default:
		c.sent.lists.Add(1)
	}
	return c.next.RoundTrip(request)
}
