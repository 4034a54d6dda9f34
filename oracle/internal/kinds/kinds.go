// Package kinds is the one list of kinds that the programs here speak of:
// everything k8s.io/api defines, the two groups of other modules that every
// server serves, and the kinds of the API machinery itself.
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

// Scheme returns a scheme of all the kinds, with client-go's defaults.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme,
		// client-go leaves out what no client lists or watches.
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

// HasProtobuf tells a kind that has both forms from one that the server answers
// with in JSON only: a table, whose cells are of any JSON type.
func HasProtobuf(kind reflect.Type) bool {
	return kind != reflect.TypeFor[metav1.Table]()
}

// JSONName returns the name of a field as encoding/json sees it, and the options
// of its tag. The name is . for a struct whose fields stand among those of the
// struct around it, and - for a field that JSON does not have.
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
