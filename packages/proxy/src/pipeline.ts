import { authorization } from './middleware/authorization.ts';
import type { Authorizer } from './middleware/authorization.ts';
import { audit } from './middleware/audit.ts';
import type { AuditOptions } from './middleware/audit.ts';
import { authentication } from './middleware/authentication.ts';
import { CallTracker } from './middleware/call-tracker.ts';
import type { AuthenticationOptions } from './middleware/authentication.ts';
import { hostAndOrigin } from './middleware/host-and-origin.ts';
import type { HostAndOriginOptions } from './middleware/host-and-origin.ts';
import type { Metrics } from './middleware/metrics.ts';
import type { Exchange, Middleware } from './middleware/middleware.ts';
import { listingCapture } from './middleware/listing-capture.ts';
import type { ListingSink } from './middleware/listing-capture.ts';
import { legacyResults } from './middleware/legacy-results.ts';
import { promisedResults } from './middleware/promised-results.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import type { RateLimitOptions } from './middleware/rate-limit.ts';
import { recovery } from './middleware/recovery.ts';
import { resultRepair } from './middleware/result-repair.ts';
import type { ResultRepairOptions } from './middleware/result-repair.ts';
import { taskOwners } from './middleware/task-owners.ts';
import type { TaskOwners, TaskOwnersOptions } from './middleware/task-owners.ts';
import type { Telemetry } from './middleware/telemetry.ts';
import { toolFilter } from './middleware/tool-filter.ts';
import type { ToolRules } from './middleware/tool-filter.ts';
import { traffic } from './middleware/traffic.ts';
import type { CallSink } from './middleware/traffic.ts';
import { toolPinning } from './middleware/tool-pinning.ts';
import type { Pins } from './middleware/tool-pinning.ts';

/** What middleware is configured with. */
export interface PipelineOptions
  extends
    HostAndOriginOptions,
    AuthenticationOptions,
    Pick<TaskOwnersOptions, 'taskKeys'>,
    ResultRepairOptions {
  workload?: string | undefined;
  audit?: AuditOptions | undefined;
  traffic?: CallSink | undefined;
  listings?: ListingSink | undefined;
  /** Whether messages are read even if no middleware needs that. */
  readsMessages: boolean;
  metrics?: Metrics | undefined;
  authorizer?: Authorizer | undefined;
  telemetry?: Telemetry | undefined;
  tools?: ToolRules | undefined;
  pins?: Pins | undefined;
  rateLimits?: RateLimitOptions | undefined;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

/** Parts that several middlewares share. */
interface SharedParts {
  tasks: TaskOwners | undefined;
  tracker: CallTracker | undefined;
}

/** One middleware, or undefined if the options leave it no work. */
interface MiddlewareRow {
  type: string;
  create: (options: PipelineOptions & SharedParts) => Middleware | undefined;
}

/**
 * All middleware, the outermost first. To add one, create a file in `middleware/` and add a row here. Connection and
 * size limits apply earlier, in the listener and in the body reader.
 */
const table: readonly MiddlewareRow[] = [
  { type: 'recovery', create: recovery },
  // Outside of everything that refuses requests. The principal is known when the record is written.
  { type: 'audit', create: audit },
  // Next to the audit, which sees the same for both.
  { type: 'traffic', create: traffic },
  { type: 'metrics', create: ({ metrics }) => metrics },
  { type: 'host-and-origin', create: hostAndOrigin },
  { type: 'authentication', create: authentication },
  { type: 'telemetry', create: ({ telemetry }) => telemetry },
  { type: 'tool-filter', create: toolFilter },
  // Outside of policies, which find the call that began a task by the server's ID.
  { type: 'task-owners', create: ({ tasks }) => tasks },
  { type: 'authorization', create: authorization },
  // Outside of pins, which compare the same definition for clients of all versions.
  { type: 'legacy-results', create: legacyResults },
  // Inside of legacy results, which clients of earlier versions get in part, and outside of pins, as above.
  { type: 'promised-results', create: promisedResults },
  { type: 'tool-pinning', create: toolPinning },
  // Inside of everything that refuses calls, so that refused ones cost no tokens.
  { type: 'rate-limit', create: rateLimit },
  { type: 'listing-capture', create: listingCapture },
  // Inside of everything else: clients get the very things that are recorded, pinned, and judged.
  { type: 'result-repair', create: resultRepair },
];

/** Creates the middleware that has something to do, the outermost first. Throws `invalid` for invalid options. */
export function createMiddleware(options: PipelineOptions): Middleware[] {
  const { audit: audited, traffic: sink } = options;
  const isShared = audited?.calls !== undefined && sink !== undefined;
  const tracker = isShared ? new CallTracker(audited.now) : undefined;
  const all = { ...options, tasks: taskOwners(options), tracker };
  return table.flatMap(({ create }) => create(all) ?? []);
}

/** Puts the middleware for HTTP requests around `handle`. */
export function compose(
  middlewares: readonly Middleware[],
  handle: (exchange: Exchange) => void,
): (exchange: Exchange) => void {
  return middlewares.reduceRight<(exchange: Exchange) => void>((inner, { request }) => {
    if (request === undefined) return inner;
    return (exchange) => request(exchange, () => inner(exchange));
  }, handle);
}
