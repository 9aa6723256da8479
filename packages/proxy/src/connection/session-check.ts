import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { RefusedRequest, ServerConnection } from './connection.ts';
import { performHandshake } from './handshake.ts';
import { noAnswer } from '../jsonrpc/message.ts';
import { modernMeta, newestLegacyVersion } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import type { Transport } from '../transport/transport.ts';
import type { WorkloadInput } from '../input/workload-input.ts';

/** How long a list may take. Some servers ask other services first, and work nevertheless. */
const listMs = 10_000;
/** The lists in the order in which clients need them, by the capability that announces them. */
const lists = [
  ['tools', 'tools/list'],
  ['prompts', 'prompts/list'],
  ['resources', 'resources/list'],
] as const;

interface SessionCheckOptions {
  version: string;
  generation: 'legacy' | 'modern' | undefined;
  input: WorkloadInput;
  signal: AbortSignal;
}

/**
 * Begins a session, reads a list, and ends the session. Returns how the server refuses the list, if it does. Throws
 * `unavailable` if a client could not begin a session.
 */
export async function checkSession(
  transport: Transport,
  { version, generation, input, signal }: SessionCheckOptions,
): Promise<string | undefined> {
  const connection = new ServerConnection({
    transport,
    owner: { notified() {}, lost() {}, asked: (asked, question) => asked.decline(question) },
    input,
    onFault() {},
  });
  try {
    await performHandshake(connection, { client: clientOf(version), generation, probeMs: 0, signal });
    return await checkList(connection, version, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw unavailable(`no session works: ${messageOf(error)}`, { cause: error });
  } finally {
    await connection.close('it is over');
  }
}

/** Reads a list that the server announces. Returns the server's refusal. No answer at all is a failure. */
export async function checkList(
  connection: ServerConnection,
  version: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { capabilities } = connection.identity;
  const [, method] = lists.find(([capability]) => capabilities[capability] !== undefined) ?? [];
  if (method === undefined) return undefined;
  const over = new AbortController();
  const late = delay(listMs, undefined, { signal: over.signal, ref: false }).catch(() => {});
  const params = connection.generation === 'modern' ? { _meta: modernMeta(clientOf(version)) } : {};
  const asked = connection.request(method, params, AbortSignal.any([signal, over.signal]));
  try {
    await Promise.race([asked, late]);
    return undefined;
  } catch (error) {
    if (!(error instanceof RefusedRequest) || error.error.message.startsWith(noAnswer)) throw error;
    return error.message;
  } finally {
    asked.catch(() => {}); // cancelled, because the list takes too long
    over.abort(new Error('the list is not needed anymore'));
  }
}

function clientOf(version: string): ClientIdentity {
  return {
    protocolVersion: newestLegacyVersion,
    capabilities: {},
    clientInfo: { name: 'toolhive', version },
  };
}
