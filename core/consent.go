package core

// ConsentKey is the key of metadata that says that those whom the data is of agree.
const ConsentKey = "consent"

// CheckConsent refuses metadata without consent: true. path is where the metadata stands in the request.
func CheckConsent(m Metadata, path string) error {
	if agreed, ok := m[ConsentKey].(bool); ok && agreed {
		return nil
	}
	return Invalid(path+"."+ConsentKey, "must be true: security.compliance.gdpr.consent.required takes executions only with the consent of those whom the data is of")
}
