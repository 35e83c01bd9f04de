// Package aws is the secret provider over AWS Secrets Manager.
//
// It owns the names of secrets and their versions, and how failures of the service are worded. It does not own
// credentials, signatures and repetition, which are the AWS SDK's, and it never writes a secret. It keeps no value.
package aws
