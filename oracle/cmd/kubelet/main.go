// Kubelet serves logs, exec, attach and port-forward for the pods of a node. It
// uses the real streaming server with a container runtime that runs no
// containers.
//
//	kubelet
//
// It prints the port on which it serves HTTPS, and exits when stdin is closed.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/cri-streaming/pkg/streaming"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func run() error {
	runtime, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config := streaming.DefaultConfig
	config.Addr = runtime.Addr().String()
	server, err := streaming.NewServer(config, programs{})
	if err != nil {
		return err
	}
	go http.Serve(runtime, server)

	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	kubelet := &http.Server{
		Handler:     routes(server),
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}},
		BaseContext: func(net.Listener) context.Context { return context.Background() },
	}
	go kubelet.ServeTLS(listener, "", "")
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
