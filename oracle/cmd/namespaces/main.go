// Namespaces lists namespaces with client-go and prints them sorted, one line
// NAME/RESOURCEVERSION for each.
//
//	namespaces --kubeconfig FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"watchkeeper/oracle/internal/kubeconfig"
)

func main() {
	path := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	flag.Parse()
	if err := run(context.Background(), *path); err != nil {
		fmt.Fprintln(os.Stderr, "namespaces:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	client, err := kubeconfig.Client(path)
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var lines []string
	for _, namespace := range list.Items {
		lines = append(lines, namespace.Name+"/"+namespace.ResourceVersion)
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}
