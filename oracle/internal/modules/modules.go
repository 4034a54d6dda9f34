// Package modules reports the versions of the modules that a program is built
// from.
package modules

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// API are the modules that define the API types.
var API = []string{
	"k8s.io/api",
	"k8s.io/apimachinery",
	"k8s.io/apiextensions-apiserver",
	"k8s.io/kube-aggregator",
}

// Versions returns the paths and versions of the given modules on one line.
func Versions(paths ...string) (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", fmt.Errorf("the binary has no build information")
	}
	var versions []string
	for _, path := range paths {
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == path })
		if i < 0 {
			return "", fmt.Errorf("module %s not found in the build information", path)
		}
		module := info.Deps[i]
		if module.Replace != nil {
			module = module.Replace
		}
		versions = append(versions, path+" "+module.Version)
	}
	return strings.Join(versions, " "), nil
}
