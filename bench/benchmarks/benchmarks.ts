import type { Figure } from '../measurement.ts';
import { bridge } from './bridge.ts';
import { cli } from './cli.ts';
import { combined } from './combined.ts';
import { underAttacks } from './containment.ts';
import { egress } from './egress.ts';
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
  run: (context: BenchmarkContext) => Promise<Figure[]>;
}

/** Every benchmark. A new one is a file beside this one and a row here. */
export const benchmarks: readonly Benchmark[] = [
  { name: 'bridge', run: bridge },
  { name: 'proxy', run: proxy },
  { name: 'governed', run: governed },
  { name: 'floods', run: underFloods },
  { name: 'egress', run: egress },
  { name: 'containment', run: underAttacks },
  { name: 'memory', run: memory },
  { name: 'sessions', run: idleSessions },
  { name: 'cli', run: cli },
  { name: 'start', run: start },
  { name: 'list', run: list },
  { name: 'tools', run: tools },
  { name: 'combined', run: combined },
  { name: 'operator', run: operator },
  { name: 'replicas', run: replicas },
];
