import * as z from 'zod';
import type { OutboundRules } from '../outbound-rules.ts';
import type { ConnectionLimits } from './connection-limiter.ts';
import type { CorporateProxies } from './corporate.ts';

/** What the process of the gateways is told once, before anything else. */
export interface GatewaySettings {
  /** The resolvers to ask, with ports, instead of those of this machine. */
  nameServers: readonly string[] | undefined;
  limits: ConnectionLimits;
  /** How many files the process can have open. */
  openFiles: number;
  proxies: CorporateProxies;
}

/** Which socket of a gateway follows. `shared` is a listener for the sandboxes, `local` one on a loopback address of a server. */
export type SocketKind = 'datagrams' | 'lookups' | 'listener' | 'local' | 'shared';

/** A gateway, except for its sockets. */
export interface GatewayToOpen {
  gateway: number;
  rules: OutboundRules;
  names: readonly (readonly [name: string, address: string])[];
  /** Where connections through the shared listeners come from that are for this gateway. */
  source: string | undefined;
}

/** What the daemon tells the process of the gateways. A number in `request` is answered with `done`. */
export type ToGateways =
  | ({ type: 'settings'; request: number } & GatewaySettings)
  /** Is answered as soon as the process works on messages. */
  | { type: 'ping'; request: number }
  | { type: 'socket'; gateway: number; kind: SocketKind; request: number }
  | ({ type: 'open'; request: number } & GatewayToOpen)
  | { type: 'rules'; gateway: number; rules: OutboundRules; request: number }
  | { type: 'close'; gateway: number; request: number }
  | { type: 'close listener'; port: number }
  | { type: 'switched'; ticket: number; worked: boolean }
  | { type: 'local decided'; ticket: number; isAllowed: boolean }
  /** Lookups and connections of the gateway arrive in a stream. */
  | { type: 'relay'; gateway: number; request: number }
  | { type: 'bytes'; gateway: number; bytes: Uint8Array }
  | { type: 'relay ended'; gateway: number }
  /** Connections to a Unix socket or a named pipe lead to a port on the other side of the relay. */
  | { type: 'publish'; gateway: number; path: string; port: number; request: number }
  | { type: 'unpublish'; path: string };

/** A name of a server is as long as DNS allows, and an address at most as long as one of IPv6 with a zone. */
const Host = z.string().max(300);
const Reason = z.string().max(2_000);

const Decision = z.object({
  host: Host,
  port: z.int().min(0).max(65_535).optional(),
  verdict: z.enum(['allowed', 'denied']),
  rule: Reason.optional(),
  reason: Reason.optional(),
  missing: z.enum(['host', 'port', 'address', 'nothing']).optional(),
  address: Host.optional(),
});

/** What the process of the gateways tells. It handles bytes of servers, so nothing of this is trusted. */
export const FromGateways = z.discriminatedUnion('type', [
  z.object({ type: z.literal('done'), request: z.number(), error: Reason.optional() }),
  z.object({
    type: z.literal('report'),
    gateway: z.number(),
    decisions: z
      .array(z.object({ decision: Decision, times: z.int().min(1), connection: z.number().optional() }))
      .max(10_000),
    ended: z
      .array(
        z.object({
          connection: z.number(),
          sent: z.number().nonnegative(),
          received: z.number().nonnegative(),
        }),
      )
      .max(10_000),
    names: z.array(z.tuple([Host, Host])).max(10_000),
  }),
  z.object({ type: z.literal('switch'), gateway: z.number(), isUp: z.boolean(), ticket: z.number() }),
  /** Asks whether a connection may go to a local port. */
  z.object({
    type: z.literal('local'),
    gateway: z.number(),
    port: z.int().min(1).max(65_535),
    ticket: z.number(),
  }),
  z.object({ type: z.literal('fault'), gateway: z.number(), text: z.string().max(10_000) }),
  z.object({
    type: z.literal('bytes'),
    gateway: z.number(),
    bytes: z.custom<Uint8Array>((bytes) => bytes instanceof Uint8Array),
  }),
  z.object({ type: z.literal('relay said'), gateway: z.number(), text: Reason }),
]);
export type FromGateways = z.infer<typeof FromGateways>;
