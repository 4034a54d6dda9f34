package main

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var statusPredicates = map[string]func(error) bool{
	"IsAlreadyExists":              errors.IsAlreadyExists,
	"IsBadRequest":                 errors.IsBadRequest,
	"IsConflict":                   errors.IsConflict,
	"IsForbidden":                  errors.IsForbidden,
	"IsInternalError":              errors.IsInternalError,
	"IsInvalid":                    errors.IsInvalid,
	"IsMethodNotSupported":         errors.IsMethodNotSupported,
	"IsNotAcceptable":              errors.IsNotAcceptable,
	"IsNotFound":                   errors.IsNotFound,
	"IsRequestEntityTooLargeError": errors.IsRequestEntityTooLargeError,
	"IsServerTimeout":              errors.IsServerTimeout,
	"IsServiceUnavailable":         errors.IsServiceUnavailable,
	"IsStoreReadError":             errors.IsStoreReadError,
	"IsTimeout":                    errors.IsTimeout,
	"IsTooManyRequests":            errors.IsTooManyRequests,
	"IsUnauthorized":               errors.IsUnauthorized,
	"IsUnexpectedServerError":      errors.IsUnexpectedServerError,
	"IsUnsupportedMediaType":       errors.IsUnsupportedMediaType,
	// The predicates of the reflector are not exported.
	"isExpiredError":                 func(err error) bool { return errors.IsResourceExpired(err) || errors.IsGone(err) },
	"isTooLargeResourceVersionError": isTooLargeResourceVersion,
}

const tooLarge = "Too large resource version"

// isTooLargeResourceVersion reports whether a status has the cause for a too
// large resource version, or is a timeout with details and such a message.
func isTooLargeResourceVersion(err error) bool {
	if errors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	status := err.(errors.APIStatus).Status()
	if !errors.IsTimeout(err) || status.Details == nil {
		return false
	}
	found := strings.Contains(status.Message, tooLarge)
	for _, cause := range status.Details.Causes {
		found = found || cause.Message == tooLarge
	}
	return found
}

func statuses(g generator) {
	reasons := []metav1.StatusReason{
		"", "Unauthorized", "Forbidden", "NotFound", "AlreadyExists", "Conflict", "Gone", "Invalid", "ServerTimeout",
		"StorageReadError", "Timeout", "TooManyRequests", "BadRequest", "MethodNotAllowed", "NotAcceptable",
		"RequestEntityTooLarge", "UnsupportedMediaType", "InternalError", "Expired", "ServiceUnavailable",
		"Teapot", "notfound",
	}
	codes := []int32{
		0, 200, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 429, 500, 503, 504, -1,
	}
	for _, reason := range reasons {
		for _, code := range codes {
			for range max(1, g.count/len(reasons)/len(codes)) {
				g.status(reason, code)
			}
		}
	}
}

// status generates a random status with the given reason and code.
func (g generator) status(reason metav1.StatusReason, code int32) {
	messages := []string{"", tooLarge, "Timeout: " + tooLarge + ": 5, current: 4", strings.ToLower(tooLarge)}
	causes := []metav1.CauseType{
		"", metav1.CauseTypeResourceVersionTooLarge, metav1.CauseTypeUnexpectedServerResponse,
		metav1.CauseTypeFieldValueInvalid, "Strange",
	}
	status := metav1.Status{
		Status: pick(g, "Failure", "Success", ""), Message: pick(g, messages...), Reason: reason, Code: code,
	}
	if !g.oneIn(4) {
		details := metav1.StatusDetails{Name: pick(g, "", "n"), Group: pick(g, "", "g"), Kind: pick(g, "", "k")}
		details.UID, details.RetryAfterSeconds = pick[types.UID](g, "", "u"), pick[int32](g, 0, 0, 1, 30, -1)
		for range g.IntN(3) {
			cause := metav1.StatusCause{Type: pick(g, causes...), Message: pick(g, messages...), Field: pick(g, "", "f")}
			details.Causes = append(details.Causes, cause)
		}
		status.Details = &details
	}
	if g.oneIn(8) {
		status.Continue = "c"
	}
	err := &errors.StatusError{ErrStatus: status}
	result := struct {
		Yes   []string `json:"yes"`
		Delay *int     `json:"delay"`
	}{Yes: []string{}}
	for name, predicate := range statusPredicates {
		if predicate(err) {
			result.Yes = append(result.Yes, name)
		}
	}
	if delay, ok := errors.SuggestsClientDelay(err); ok {
		result.Delay = &delay
	}
	g.record(text(status), result)
}

// response is an HTTP response whose body is not a status.
type response struct {
	Code     int    `json:"code"`
	Method   string `json:"method"`
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Text     string `json:"text"`
	Retry    int    `json:"retry"`
}

func responses(g generator) {
	emit := func(r response) {
		resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}
		result := errors.NewGenericServerResponse(r.Code, r.Method, resource, r.Name, r.Text, r.Retry, true)
		g.record(text(r), result.ErrStatus)
	}
	resources := []schema.GroupResource{{}, {Resource: "pods"}, {Group: "apps", Resource: "deployments"}}
	texts := []string{"unknown", "", "no \"way\"\n\t\x01é\x7f'"}
	for code := 100; code < 600; code++ {
		for range max(1, g.count/500) {
			resource := pick(g, resources...)
			emit(response{
				code, pick(g, "GET", "POST", "PUT"), resource.Group, resource.Resource,
				pick(g, "", "web"), pick(g, texts...), pick(g, 0, 7),
			})
		}
	}
	// Go quotes characters in the text. This covers all of them, a few at a time,
	// except those that a newer version of Unicode may define.
	assigned := []*unicode.RangeTable{
		unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co,
	}
	const batch = 128
	for first := rune(0); first <= unicode.MaxRune; first += batch {
		var letters strings.Builder
		for letter := first; letter < first+batch; letter++ {
			if unicode.In(letter, assigned...) {
				letters.WriteRune(letter)
			}
		}
		emit(response{Code: 500, Method: "GET", Text: "x" + letters.String() + "y"})
	}
}
