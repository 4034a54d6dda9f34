// Package kubeconfig creates clients that use protobuf and have no client-side
// rate limit.
package kubeconfig

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client returns a clientset for the current context of a kubeconfig.
func Client(path string) (*kubernetes.Clientset, error) {
	config, err := Config(path)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Config returns the configuration of such a clientset.
func Config(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS = -1
	return config, nil
}
