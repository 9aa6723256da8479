import type { InstanceAddress } from '@toolhive/runtime/runtime';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

/** Where a server that speaks HTTP is, and what every request to it has to bring. */
export interface HttpEndpoint {
  dispatcher: Dispatcher;
  origin: string;
  /** Of the endpoint, with its query. */
  path: string;
  /** Headers beside those of the protocol, such as a token. Asked for with every request. */
  headers?: () => Promise<Record<string, string>>;
}

/** An instance on this machine. */
export function endpointOf(address: InstanceAddress, path: string): HttpEndpoint {
  const origin = address.kind === 'socket' ? 'http://localhost' : `http://${address.host}:${address.port}`;
  const dispatcher = new Pool(origin, address.kind === 'socket' ? { socketPath: address.path } : {});
  return { dispatcher, origin, path };
}
