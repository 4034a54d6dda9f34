// Package kinds defines the kinds that the programs in this module work with:
// those of k8s.io/api, of apiextensions.k8s.io and apiregistration.k8s.io, and of
// the API machinery.
package kinds

import (
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Scheme returns a new scheme with all kinds registered.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme,
		// client-go does not register groups that clients neither list nor watch.
		admissionv1.AddToScheme,
		admissionv1beta1.AddToScheme,
		apidiscoveryv2.AddToScheme,
		apidiscoveryv2beta1.AddToScheme,
		imagepolicyv1alpha1.AddToScheme,
		apiextensionsv1.AddToScheme,
		apiregistrationv1.AddToScheme,
		metav1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// HasProtobuf reports whether a kind has a protobuf encoding. Only Table does
// not, because its cells can be of any JSON type.
func HasProtobuf(goType reflect.Type) bool {
	return goType != reflect.TypeFor[metav1.Table]()
}

// JSONName returns the name of a field in encoding/json, and the options of its
// tag. The name is . for an inlined struct, and - for a field that is not
// serialized.
func JSONName(field reflect.StructField) (name string, options []string) {
	tag := field.Tag.Get("json")
	if tag == "-" {
		return "-", nil
	}
	name, rest, _ := strings.Cut(tag, ",")
	if rest != "" {
		options = strings.Split(rest, ",")
	}
	inner := field.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	switch {
	case name != "":
		return name, options
	case field.Anonymous && inner.Kind() == reflect.Struct:
		return ".", options
	}
	return field.Name, options
}
