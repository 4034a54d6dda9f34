// Web serves cached pods as JSON, with a typical combination of a client-go
// shared informer, its lister and encoding/json. It is the baseline for the
// benchmarks of Watchkeeper's web service.
//
//	web --kubeconfig FILE
//
// It prints its address once the informer has synced, and then serves
//
//	GET /pods/core/v1?namespace=NAMESPACE&labelSelector=SELECTOR
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"watchkeeper/oracle/internal/kubeconfig"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	flag.Parse()
	if err := run(context.Background(), *path); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	client, err := kubeconfig.Client(path)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods()
	err = shared.Informer().SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			pod.ManagedFields = nil
		}
		return object, nil
	})
	if err != nil {
		return err
	}
	go shared.Informer().RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), shared.Informer().HasSynced) {
		return fmt.Errorf("informer did not sync")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.HandleFunc("GET /pods/core/v1", func(w http.ResponseWriter, r *http.Request) {
		list(shared.Lister(), w, r)
	})
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, nil)
}

// envelope wraps a response like the web service of Watchkeeper.
type envelope struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func list(pods listers.PodLister, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(envelope{Code: 40000, Message: err.Error()})
		return
	}
	var found []*corev1.Pod
	if namespace := query.Get("namespace"); namespace != "" {
		found, err = pods.Pods(namespace).List(selector)
	} else {
		found, err = pods.List(selector)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(envelope{Code: 40000, Message: err.Error()})
		return
	}
	_ = json.NewEncoder(w).Encode(envelope{Code: 20000, Message: "success", Data: found})
}
