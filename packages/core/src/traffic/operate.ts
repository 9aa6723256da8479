import { conflict, notFound, unavailable } from '@toolhive/contract/failure';
import { advice, fixes, workloadNotFound } from '@toolhive/contract/fixes';
import type { Sent } from '@toolhive/contract/operation';
import type {
  ClientSession,
  Traffic,
  TrafficDetails,
  TrafficEvent,
  TrafficRecording,
} from '@toolhive/contract/traffic';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';
import { clientOf } from '@toolhive/proxy/traffic';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { CallQuery } from '@toolhive/history/call-store';
import type { History, HistoryGrouping } from '@toolhive/contract/history';

interface TrafficRequest extends CallQuery {
  since?: string | undefined;
  until?: string | undefined;
  own_reads?: boolean | undefined;
  before?: number | undefined;
  limit?: number | undefined;
}

/** The latest calls to a workload that match, the oldest of them first. Throws `not-found`. */
export function listTraffic(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  { before, limit, ...request }: TrafficRequest,
): Traffic {
  const { id, live } = core.workloads.require(name);
  const log = core.traffic.of(id);
  const { oldestMs } = log;
  return {
    ...log.list(queryOf(request), { before, limit }),
    ...(oldestMs === undefined ? {} : { oldest_at: new Date(oldestMs).toISOString() }),
    is_read: live.proxy?.readsMessages ?? true,
    recording: log.recording,
  };
}

/** The same from now on, or after an event, until the signal aborts. */
export function watchTraffic(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  { filter, afterId }: { filter: TrafficRequest; afterId: string | undefined },
  signal: AbortSignal,
): AsyncIterable<Sent<TrafficEvent>> {
  return core.traffic.of(core.workloads.require(name).id).watch(queryOf(filter), afterId, signal);
}

function queryOf({ since, until, own_reads: ownReads, ...filter }: TrafficRequest): CallQuery {
  const ms = (time: string | undefined): number | undefined =>
    time === undefined ? undefined : Date.parse(time);
  return { ...filter, sinceMs: ms(since), untilMs: ms(until), ownReads };
}

/** Figures about calls and connections. Throws `not-found` for a workload that the caller does not see. */
export function getHistory(
  core: GovernanceWing & WorkloadsWing,
  {
    workload,
    ...request
  }: {
    workload?: string | undefined;
    from?: string | undefined;
    to?: string | undefined;
    by: HistoryGrouping;
    totals?: boolean | undefined;
  },
  isVisible: (name: string) => boolean,
): Promise<History> {
  const visible = core.workloads
    .all()
    .filter(({ runConfig: { name } }) => (workload === undefined || name === workload) && isVisible(name));
  if (workload !== undefined && visible.length === 0) throw workloadNotFound(workload);
  return core.history.read(new Map(visible.map(({ id, runConfig }) => [id, runConfig.name])), request);
}

/** One call, with its bodies if they were recorded. Throws `not-found`. */
export function getTrafficEntry(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  id: number,
): TrafficDetails {
  return core.traffic.of(core.workloads.require(name).id).get(id);
}

/** Switches the recording of bodies on or off. Throws `conflict` if the messages are not read. */
export function changeTrafficRecording(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  bodies: boolean,
): TrafficRecording {
  const { id, live } = core.workloads.require(name);
  if (bodies && live.proxy?.readsMessages === false) {
    throw conflict(
      `the proxy forwards messages of ${name} unread, so no bodies can be recorded`,
      advice(`thv pin mode ${name} warn makes the proxy read them`, fixes.reviewTools(name)),
    );
  }
  const log = core.traffic.of(id);
  log.changeRecording(bodies);
  return log.recording;
}

/** The sessions of a workload, the latest first. */
export function listSessions(core: GovernanceWing & WorkloadsWing, name: string): ClientSession[] {
  const { live } = core.workloads.require(name);
  const sessions = live.proxy?.sessions() ?? [];
  return sessions
    .toSorted((a, b) => b.startedMs - a.startedMs)
    .map(({ id, client, isRelayed, startedMs, lastSeenMs, inFlight, process }) => {
      const described = clientOf(client.clientInfo);
      return {
        id: core.traffic.publicId(id),
        ...(described === undefined ? {} : { client: described }),
        source: isRelayed ? 'ui' : 'client',
        protocol_version: client.protocolVersion.slice(0, 64),
        started_at: new Date(startedMs).toISOString(),
        last_message_at: new Date(lastSeenMs).toISOString(),
        in_flight: inFlight,
        process,
      };
    });
}

/** Ends a session. Throws `not-found`, and `unsupported` if the server refuses. */
export async function endSession(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  id: string,
): Promise<void> {
  const { live } = core.workloads.require(name);
  const session = live.proxy?.sessions().find((one) => core.traffic.publicId(one.id) === id);
  const hasEnded = session !== undefined && (await live.proxy?.endSession(session.id)) === true;
  if (!hasEnded) throw notFound(`session ${id} of workload ${name} not found`);
}

/** A workload's proxy, for sending requests. Throws `unavailable` while the proxy is not running. */
export function proxyOf(core: WorkloadsWing, name: string): WorkloadProxy {
  const { live, condition } = core.workloads.require(name);
  if (live.proxy !== undefined) return live.proxy;
  throw unavailable(
    `workload ${name} is ${condition.status}`,
    advice(`start it: thv start ${name}`, fixes.start(name)),
  );
}
