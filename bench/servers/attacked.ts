// A daemon's part of two workloads: one that is measured, and one whose server attacks its egress gateway:
// `node attacked.ts KIND`. With `nothing`, there is no attack. Ready when the attack has begun.
import { once } from 'node:events';
import { openNameServer } from '../../packages/runtime/src/testing/name-server.ts';
import { serveParent } from '../child.ts';
import { type Attack, allowedName } from './egress-attacker.ts';
import { openEchoProxy } from './open-proxy.ts';
import { runBehindGateway } from './sandboxed.ts';

const kind = process.argv[2] as Attack | 'nothing';
const port = await openEchoProxy();

/** Returns a function that ends the attack. */
async function startAttack(attack: Attack): Promise<() => void> {
  // No connection gets as far as this address, which is for documentation (RFC 5737).
  const names = await openNameServer(async () => ['192.0.2.1']);
  const rules = { hosts: [allowedName], ports: [80, 443] };
  const script = new URL('./egress-attacker.ts', import.meta.url).pathname;
  const attacker = await runBehindGateway({ rules, nameServers: [names.address] }, [script, attack]);
  const ended = once(attacker, 'exit').then(([code]) => {
    throw new Error(`the attack ended with ${code}`);
  });
  ended.catch(() => {}); // concerns only the beginning: an attack is bounded
  if (attacker.stdout !== null) await Promise.race([once(attacker.stdout, 'data'), ended]);
  return () => void attacker.kill('SIGKILL');
}

const endAttack = kind === 'nothing' ? () => {} : await startAttack(kind);
serveParent({ port }, async () => endAttack());
