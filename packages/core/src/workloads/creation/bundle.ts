import { homedir } from 'node:os';
import { ThvError, invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Manifest } from '@toolhive/bundles/manifest';
import { serverOf } from '@toolhive/bundles/template';
import { type BundleConfig, configFor, fieldsOf, isSecretTarget } from '@toolhive/bundles/user-config';
import { guardedDownload } from '@toolhive/outgoing/guarded-fetch';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import { bundleHash } from '@toolhive/runtime/source';
import type { BundleSource } from '@toolhive/runtime/source';
import type { StateWing } from '../../wings/state.ts';
import type { SupplyWing } from '../../wings/supply.ts';

interface Call extends Pick<PrepareOptions, 'report' | 'signal'> {
  trusted: PrepareOptions['trusted'];
}

/** A bundle whose content is stored. Its source names the content. */
export interface ObtainedBundle {
  source: BundleSource;
  manifest: Manifest;
}

const DOWNLOAD_MS = 10 * 60_000;

/**
 * Stores the content of a bundle, or reads it if it is stored. Throws if it cannot run here, or is not what its source
 * names.
 */
export async function obtainBundle(
  { bundles, settings, lookup }: StateWing & SupplyWing,
  source: BundleSource,
  { trusted, ...call }: Call,
): Promise<ObtainedBundle> {
  const place = { place: source.name, sha256: bundleHash(source) };
  const { sha256, manifest } = await bundles.obtain(place, {
    ...call,
    async download(url, receive) {
      const ca = await trusted?.();
      await guardedDownload(url, receive, {
        allowPrivate: settings.current.allow_private_registry_ip === true,
        lookup,
        ...(ca === undefined ? {} : { ca }),
        timeoutMs: DOWNLOAD_MS,
        signal: call.signal,
      }).catch((error: unknown) => {
        throw explained(error);
      });
    },
  });
  serverOf(manifest, process.platform); // throws for a bundle that cannot run here
  return { source: { ...source, version: `sha256-${sha256}` }, manifest };
}

/** A failed download with what the user can do about it. */
function explained(error: unknown): unknown {
  if (!(error instanceof ThvError) || error.hint !== undefined) return error;
  const { kind, message } = error;
  const isUntrusted = /CERT|UNABLE_TO_VERIFY|ISSUER/.test(message);
  const hint = isUntrusted
    ? 'to trust a certificate authority, add --ca-cert FILE or run thv config set-ca-cert FILE'
    : kind === 'forbidden'
      ? 'ToolHive downloads bundles only over https and from public addresses. Download the bundle yourself, and run the file'
      : 'try again, or download the bundle yourself, and run the file';
  return new ThvError(kind, message, { hint, cause: error });
}

/** The user's values for a bundle's fields. Throws `invalid` for values that only a bundle could use. */
export function bundleConfig(
  { user_config: given, secrets }: Pick<CreateWorkload, 'user_config' | 'secrets'>,
  bundle: ObtainedBundle | undefined,
): BundleConfig {
  const targets = (secrets ?? []).map(({ target }) => target);
  if (bundle !== undefined) {
    const { name } = bundle.manifest;
    return configFor(name, fieldsOf(bundle.manifest, homedir()), given ?? {}, targets);
  }
  if (Object.keys(given ?? {}).length > 0 || targets.some(isSecretTarget)) {
    throw invalid('user_config is for bundles, and this server is not a bundle', {
      hint: 'set environment variables instead, or omit user_config',
    });
  }
  return { values: {}, volumes: [] };
}
