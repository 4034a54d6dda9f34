// Package kubeconfig makes a client as the programs here want it: protobuf, and
// no limit of its own on the rate of requests.
package kubeconfig

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client returns the typed client for the current context of a kubeconfig.
func Client(path string) (*kubernetes.Clientset, error) {
	config, err := Config(path)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Config returns what such a client is made from.
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
