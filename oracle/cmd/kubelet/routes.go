package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/proxy"
	translator "k8s.io/apiserver/pkg/util/proxy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// routes returns the kubelet endpoints that the API server uses. Every pod
// exists, except one named "unknown".
func routes(runtime streaming.Server) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, handler func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("pod") == "unknown" {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, "pod does not exist")
				return
			}
			handler(w, r)
		})
	}
	handle("GET /containerLogs/{namespace}/{pod}/{container}", log)
	handle("/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		command := r.URL.Query()["command"]
		if len(command) == 1 && command[0] == "asked" {
			command = []string{"echo", r.Method, r.URL.String()}
		}
		response, err := runtime.GetExec(&runtimeapi.ExecRequest{
			ContainerId: r.PathValue("container"), Cmd: command,
			Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		})
		if err != nil {
			streaming.WriteError(err, w)
			return
		}
		stream(w, r, response.Url, options)
	})
	handle("/attach/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response, err := runtime.GetAttach(&runtimeapi.AttachRequest{
			ContainerId: r.PathValue("container"),
			Stdin:       options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		})
		if err != nil {
			streaming.WriteError(err, w)
			return
		}
		stream(w, r, response.Url, options)
	})
	handle("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		tunnel := wsstream.IsWebSocketRequestWithTunnelingProtocol(r)
		options := &portforward.V4Options{}
		if !tunnel {
			var err error
			if options, err = portforward.NewV4Options(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		response, err := runtime.GetPortForward(&runtimeapi.PortForwardRequest{
			PodSandboxId: r.PathValue("pod"), Port: options.Ports,
		})
		if err != nil {
			streaming.WriteError(err, w)
			return
		}
		location, err := url.Parse(response.Url)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var handler http.Handler = proxy.NewUpgradeAwareHandler(location, nil, false, true, errorResponder{})
		if tunnel {
			handler = translator.NewTunnelingHandler(handler)
		}
		handler.ServeHTTP(w, r)
	})
	return mux
}

// stream proxies a request to the container runtime. Like the real kubelet, it
// translates the newer WebSocket protocol, which the runtime does not support.
func stream(w http.ResponseWriter, r *http.Request, runtime string, options *remotecommand.Options) {
	location, err := url.Parse(runtime)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var handler http.Handler = proxy.NewUpgradeAwareHandler(location, nil, false, true, errorResponder{})
	if wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		handler = translator.NewStreamTranslatorHandler(location, nil, 0, translator.Options{
			Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		})
	}
	handler.ServeHTTP(w, r)
}

// errorResponder reports proxy errors to the client.
type errorResponder struct{}

func (errorResponder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// log writes the request's URL and three lines. A request with follow=true gets
// another line 200 ms later. Some pod names return errors.
func log(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("pod") {
	case "mad":
		http.Error(w, "the disk is full", http.StatusInternalServerError)
		return
	case "strict":
		http.Error(w, "no such option", http.StatusBadRequest)
		return
	case "tired":
		http.Error(w, "come back later", http.StatusServiceUnavailable)
		return
	}
	lines := []string{"asked " + r.URL.String(), "one", "two", "three"}
	if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	fmt.Fprintln(w, strings.Join(lines, "\n"))
	if r.URL.Query().Get("follow") == "true" {
		http.NewResponseController(w).Flush()
		select {
		case <-time.After(200 * time.Millisecond):
			fmt.Fprintln(w, "four")
		case <-r.Context().Done():
		}
	}
}
