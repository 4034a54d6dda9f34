package main

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var statusQuestions = map[string]func(error) bool{
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
	// What a reflector asks is not exported.
	"isExpiredError":                 func(err error) bool { return errors.IsResourceExpired(err) || errors.IsGone(err) },
	"isTooLargeResourceVersionError": isTooLargeResourceVersion,
}

const tooLarge = "Too large resource version"

// isTooLargeResourceVersion says whether there is the cause for it, or else a
// timeout with details that says so in words.
func isTooLargeResourceVersion(err error) bool {
	if errors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	status := err.(errors.APIStatus).Status()
	if !errors.IsTimeout(err) || status.Details == nil {
		return false
	}
	says := strings.Contains(status.Message, tooLarge)
	for _, cause := range status.Details.Causes {
		says = says || cause.Message == tooLarge
	}
	return says
}

func statuses(t topic) {
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
			for range max(1, t.count/len(reasons)/len(codes)) {
				t.status(reason, code)
			}
		}
	}
}

// status asks about a status that is random but for its reason and code.
func (t topic) status(reason metav1.StatusReason, code int32) {
	messages := []string{"", tooLarge, "Timeout: " + tooLarge + ": 5, current: 4", strings.ToLower(tooLarge)}
	causes := []metav1.CauseType{
		"", metav1.CauseTypeResourceVersionTooLarge, metav1.CauseTypeUnexpectedServerResponse,
		metav1.CauseTypeFieldValueInvalid, "Strange",
	}
	status := metav1.Status{
		Status: pick(t, "Failure", "Success", ""), Message: pick(t, messages...), Reason: reason, Code: code,
	}
	if !t.one(4) {
		details := metav1.StatusDetails{Name: pick(t, "", "n"), Group: pick(t, "", "g"), Kind: pick(t, "", "k")}
		details.UID, details.RetryAfterSeconds = pick[types.UID](t, "", "u"), pick[int32](t, 0, 0, 1, 30, -1)
		for range t.IntN(3) {
			cause := metav1.StatusCause{Type: pick(t, causes...), Message: pick(t, messages...), Field: pick(t, "", "f")}
			details.Causes = append(details.Causes, cause)
		}
		status.Details = &details
	}
	if t.one(8) {
		status.Continue = "c"
	}
	err := &errors.StatusError{ErrStatus: status}
	answer := struct {
		Yes   []string `json:"yes"`
		Delay *int     `json:"delay"`
	}{Yes: []string{}}
	for name, question := range statusQuestions {
		if question(err) {
			answer.Yes = append(answer.Yes, name)
		}
	}
	if delay, ok := errors.SuggestsClientDelay(err); ok {
		answer.Delay = &delay
	}
	t.record(text(status), answer)
}

// response is one that is not a status, as a client sees it.
type response struct {
	Code     int    `json:"code"`
	Method   string `json:"method"`
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Text     string `json:"text"`
	Retry    int    `json:"retry"`
}

func responses(t topic) {
	ask := func(r response) {
		resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}
		answer := errors.NewGenericServerResponse(r.Code, r.Method, resource, r.Name, r.Text, r.Retry, true)
		t.record(text(r), answer.ErrStatus)
	}
	resources := []schema.GroupResource{{}, {Resource: "pods"}, {Group: "apps", Resource: "deployments"}}
	texts := []string{"unknown", "", "no \"way\"\n\t\x01é\x7f'"}
	for code := 100; code < 600; code++ {
		for range max(1, t.count/500) {
			resource := pick(t, resources...)
			ask(response{
				code, pick(t, "GET", "POST", "PUT"), resource.Group, resource.Resource,
				pick(t, "", "web"), pick(t, texts...), pick(t, 0, 7),
			})
		}
	}
	// Go has a way of its own to quote characters. All of them are tried, a few at
	// a time, but for those that a newer Unicode may have given a meaning.
	known := []*unicode.RangeTable{
		unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co,
	}
	const few = 128
	for first := rune(0); first <= unicode.MaxRune; first += few {
		var letters strings.Builder
		for letter := first; letter < first+few; letter++ {
			if unicode.In(letter, known...) {
				letters.WriteRune(letter)
			}
		}
		ask(response{Code: 500, Method: "GET", Text: "x" + letters.String() + "y"})
	}
}
