import { openWay } from '@toolhive/outgoing/way-out';
import type { OpenWay } from '@toolhive/proxy/proxy';

/** Opens connections to a server that the user has named: to any address, and through the corporate proxy if there is one. */
export function throughProxy(url: string): OpenWay {
  return (wrap) => openWay(new URL(url), { allowPrivate: true, wrap });
}
