// Loaded when needed. The bundler gives names to the parts of these packages only if they are imported like this.
export { TrustedRoot } from '@sigstore/protobuf-specs';
export { getTrustedRoot } from '@sigstore/tuf';
