import { invalid } from '@toolhive/contract/failure';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import type { ServerSource } from '@toolhive/runtime/source';
import type { Core } from '../core.ts';
import { checkedCertificates } from '../settings/kinds.ts';
import { configuredCertificates } from '../settings/settings.ts';
import type { WorkloadRequest } from './create.ts';

/**
 * Whom to trust while a source is made ready: what the request says, else what is set for the whole hive. Throws
 * `invalid` when the request says so of something that is fetched by others.
 */
export function trustedFor(
  { settings }: Core,
  request: WorkloadRequest,
  source: ServerSource | undefined,
): PrepareOptions['trusted'] {
  const asked = request.schema_version === undefined ? request.ca_certificate : undefined;
  if (!asked) return () => configuredCertificates(settings.current);
  if (source?.kind !== 'package') {
    const what = source === undefined ? 'a remote server' : 'a container image';
    throw invalid(`ca_certificate is for packages, and this is ${what}`, { hint: 'leave it out' });
  }
  const certificates = checkedCertificates(asked, 'ca_certificate');
  return async () => certificates;
}
