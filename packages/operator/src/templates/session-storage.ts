import type { OwnerReference } from '@toolhive/kubernetes/object';
import type { Proxied, RemoteProxySpec, ServerSpec } from './run-config.ts';

export type SessionStorageSpec = NonNullable<ServerSpec['sessionStorage']>;

/** Where the certificate authority of the storage is in the proxy pod. */
const CA_FOLDER = '/etc/toolhive/session-storage';
const CA_FILE = 'ca.crt';
const VOLUME = 'session-storage-ca';

/** The storage outside of the proxies, if there is one. A stdio server has one proxy, which needs none. */
export function storageOf({
  sessionStorage,
  transport,
}: ServerSpec | RemoteProxySpec): SessionStorageSpec | undefined {
  return sessionStorage === undefined || sessionStorage.provider === 'memory' || transport === 'stdio'
    ? undefined
    : sessionStorage;
}

/** The parts of a proxy pod that concern its session storage. */
export interface StorageParts {
  args: string[];
  env: { name: string; value?: string; valueFrom?: object }[];
  volumes: object[];
  mounts: object[];
}

/**
 * Returns the parts of the proxy pod. The UID is in the keys, so that another resource with the same name never reads
 * the events of this one.
 */
export function storageParts({ name, namespace, spec }: Proxied, { uid }: OwnerReference): StorageParts {
  const storage = storageOf(spec);
  if (storage === undefined) return { args: [], env: [], volumes: [], mounts: [] };
  const { address = '', db, keyPrefix = 'toolhive:', username, passwordRef, tls } = storage;
  const ca = tls?.caRef;
  const items = [{ key: ca?.key, path: CA_FILE }];
  return {
    args: [
      `--session-storage=${address}`,
      `--session-storage-db=${db}`,
      `--session-storage-prefix=${keyPrefix}${namespace}:${name}:${uid}:`,
      ...(tls === undefined
        ? []
        : [`--session-storage-tls=${ca === undefined ? 'system' : `${CA_FOLDER}/${CA_FILE}`}`]),
    ],
    env: [
      ...(username === undefined ? [] : [{ name: 'TOOLHIVE_SESSION_STORAGE_USERNAME', value: username }]),
      ...(passwordRef === undefined
        ? []
        : [{ name: 'TOOLHIVE_SESSION_STORAGE_PASSWORD', valueFrom: { secretKeyRef: { ...passwordRef } } }]),
    ],
    volumes:
      ca === undefined
        ? []
        : [
            ca.kind === 'Secret'
              ? { name: VOLUME, secret: { secretName: ca.name, items } }
              : { name: VOLUME, configMap: { name: ca.name, items } },
          ],
    mounts: ca === undefined ? [] : [{ name: VOLUME, mountPath: CA_FOLDER, readOnly: true }],
  };
}
