import { invalid } from '@toolhive/contract/failure';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import type { ServerSource } from '@toolhive/runtime/source';
import { checkedCertificates } from '@toolhive/state/kinds';
import { configuredCertificates } from '@toolhive/state/values';
import type { SettingsFile } from '@toolhive/state/settings-file';

/**
 * The certificate authorities to trust during an installation: the requested one, or those of the settings. Throws
 * `invalid` if one is requested for a source that ToolHive does not download itself.
 */
export function trustedFor(
  settings: SettingsFile,
  requested: string | undefined,
  source: ServerSource | undefined,
): PrepareOptions['trusted'] {
  if (requested === undefined) return () => configuredCertificates(settings.current);
  if (source === undefined || source.kind === 'image') {
    const what = source === undefined ? 'a remote server' : 'a container image';
    throw invalid(`ca_certificate applies only to packages, and this is ${what}`, { hint: 'omit it' });
  }
  const certificates = checkedCertificates(requested, 'ca_certificate');
  return async () => certificates;
}
