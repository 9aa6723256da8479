import { ownMessage } from '../jsonrpc/message.ts';
import type { Bridge } from './bridge.ts';
import type { Session } from './session.ts';

/** Repeats the subscriptions and the log level of a session that another proxy began, as soon as the storage has answered. */
export function setUpAgain(bridge: Bridge, session: Session, onFault: (error: unknown) => void): void {
  restore(bridge, session).catch(onFault);
}

async function restore(bridge: Bridge, session: Session): Promise<void> {
  const { id, principal } = session;
  const setup = await bridge.sessions.shared?.setup({ session: id, principal: principal.id });
  if (setup === undefined || !session.isNamed) return;
  const { subscriptions, logLevel: level } = setup;
  const set = (method: string, params: Record<string, string>, n: number): void =>
    bridge.accept(session, ownMessage({ id: `set-up-${n}`, method, params }), { answer() {}, notify() {} });
  for (const [n, uri] of subscriptions.entries()) set('resources/subscribe', { uri }, n);
  if (level !== undefined) set('logging/setLevel', { level }, subscriptions.length);
}
