import type { Figure } from '../measurement.ts';
import { bridge } from './bridge.ts';
import { cli } from './cli.ts';
import { combined } from './combined.ts';
import { underAttacks } from './containment.ts';
import { egress } from './egress.ts';
import { firstCalls } from './first-calls.ts';
import { underFloods } from './floods.ts';
import { governed } from './governed.ts';
import { list } from './list.ts';
import { memory } from './memory.ts';
import { operator } from './operator.ts';
import { proxy } from './proxy.ts';
import { replicas } from './replicas.ts';
import { idleSessions } from './sessions.ts';
import { start } from './start.ts';
import { tools } from './tools.ts';

/** The resources for a benchmark. */
export interface BenchmarkContext {
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Tells the person who waits. */
  note: (text: string) => void;
}

interface Benchmark {
  name: string;
  /** What is measured, as a heading. */
  title: string;
  /** What the references are, to follow "Compared with". Absent if the figures have none. */
  references?: string;
  run: (context: BenchmarkContext) => Promise<Figure[]>;
}

/** Every benchmark. A new one is a file beside this one and a row here. */
export const benchmarks: readonly Benchmark[] = [
  {
    name: 'bridge',
    title: 'Servers over stdio',
    references:
      'a bare bridge of `node:http` without sessions and checks in front of the same process, with a bare `node:http` server without a process, and with the transports of the official SDK in front of the same process',
    run: bridge,
  },
  { name: 'proxy', title: 'Servers over HTTP', references: 'a bare proxy with `undici`', run: proxy },
  {
    name: 'governed',
    title: 'Authentication, policies, audit, and telemetry',
    references: 'the same bridge without any of them',
    run: governed,
  },
  {
    name: 'floods',
    title: 'A server that floods the daemon',
    references: 'the same calls without a flood',
    run: underFloods,
  },
  {
    name: 'egress',
    title: 'The egress gateway',
    references: 'a pipe of Node.js in a process of its own',
    run: egress,
  },
  {
    name: 'containment',
    title: 'A server that attacks the gateway',
    references: 'the same calls without an attack',
    run: underAttacks,
  },
  { name: 'memory', title: 'Memory of the daemon', run: memory },
  {
    name: 'sessions',
    title: 'Idle sessions',
    references: 'the transports of the official SDK',
    run: idleSessions,
  },
  { name: 'cli', title: 'Commands', references: '`node -e 0`', run: cli },
  { name: 'start', title: 'The start of a server', references: 'a start by hand', run: start },
  {
    name: 'clients',
    title: 'The first calls of clients',
    references: 'the server alone, started by hand',
    run: firstCalls,
  },
  { name: 'list', title: 'Lists of workloads', run: list },
  { name: 'tools', title: 'Tool search', references: 'plain BM25', run: tools },
  { name: 'combined', title: 'The combined endpoint of a group', run: combined },
  { name: 'operator', title: 'The Kubernetes operator', run: operator },
  { name: 'replicas', title: 'Several proxies', references: 'one proxy', run: replicas },
];
