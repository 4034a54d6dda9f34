// Cache keeps the config maps of a namespace in a client-go shared informer, and
// prints the contents of the store on request.
//
//	cache --kubeconfig FILE --namespace NAMESPACE
//
// It prints "synced" once the store has synced. A request is a line on stdin:
//
//	NAME VERSION COUNT
//
// For each request it waits until the store has that object at that resource
// version, and COUNT objects in total (any number if COUNT is 0). Then it prints
// the objects in the store, and how many requests of each type the informer has
// sent:
//
//	NAMESPACE/NAME VERSION
//	end lists=N initial=N watches=N
//
// initial counts the watches with sendInitialEvents=true. The program exits when
// stdin is closed.
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
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	namespace := flag.String("namespace", "default", "namespace of the config maps")
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
	var sent requestCounts
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return countingTransport{&sent, next}
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()

	// Signaled after every change to the store.
	var lock sync.Mutex
	changed := sync.NewCond(&lock)
	notify := func() {
		lock.Lock()
		defer lock.Unlock()
		changed.Broadcast()
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
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
			return fmt.Errorf("invalid request %q: %w", lines.Text(), err)
		}
		lock.Lock()
		for !contains(store, namespace+"/"+name, version, count) {
			changed.Wait()
		}
		lock.Unlock()
		printStore(store, &sent)
	}
	return lines.Err()
}

// contains reports whether the store has an object at a resource version, and
// count objects in total.
func contains(store cache.Store, key, version string, count int) bool {
	object, exists, err := store.GetByKey(key)
	return err == nil && exists && object.(*corev1.ConfigMap).ResourceVersion == version &&
		(count == 0 || len(store.ListKeys()) == count)
}

func printStore(store cache.Store, sent *requestCounts) {
	var lines []string
	for _, object := range store.List() {
		configMap := object.(*corev1.ConfigMap)
		lines = append(lines, fmt.Sprintf("%s/%s %s", configMap.Namespace, configMap.Name, configMap.ResourceVersion))
	}
	slices.Sort(lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "end lists=%d initial=%d watches=%d\n",
		sent.lists.Load(), sent.initial.Load(), sent.watches.Load())
}

// requestCounts has the number of requests of each type.
type requestCounts struct {
	lists, initial, watches atomic.Int64
}

// countingTransport counts requests and passes them to the next transport.
type countingTransport struct {
	sent *requestCounts
	next http.RoundTripper
}

func (c countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
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
