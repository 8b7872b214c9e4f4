//! Editor features for manifests: first as plain data, then as a language server on standard input and output.
