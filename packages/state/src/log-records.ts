import type { LogRecord } from '@toolhive/contract/log-record';
import type { LogKind } from './logs.ts';

/** How much of one line a record contains. */
const maxText = 16 * 1024;
/** How much of a line may name its level. */
const levelWithin = 200;

const stampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) /;
/** How many bytes the time and the space before a line take in the file. */
export const stampBytes = 25;

/** What a line of a log says, without its time. `at` replaces that of a line that has none. */
export function recordOf(
  line: string,
  { kind, isHttp, position, at }: { kind: LogKind; isHttp: boolean; position: number; at?: string },
): LogRecord {
  const stamp = stampPattern.exec(line)?.[1] ?? at;
  const said = line.replace(stampPattern, '').replace(/\r$/, '');
  const { stream, text } =
    kind === 'proxy' ? ({ stream: 'proxy', text: said } as const) : streamOf(said, isHttp);
  return {
    ...(stamp === undefined ? {} : { at: stamp }),
    stream,
    level: levelOf(text),
    text: text.slice(0, maxText),
    line: position,
  };
}

/** The proxy marks the lines that did not come from standard error. */
function streamOf(line: string, isHttp: boolean): Pick<LogRecord, 'stream' | 'text'> {
  if (line.startsWith('[stdout] ')) return { stream: 'stdout', text: line.slice('[stdout] '.length) };
  if (line.startsWith('[toolhive] ')) return { stream: 'proxy', text: line.slice('[toolhive] '.length) };
  return { stream: isHttp ? 'output' : 'stderr', text: line };
}

type Level = LogRecord['level'];

const levels: Readonly<Record<string, Level>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  err: 'error',
  fatal: 'error',
  critical: 'error',
};

const levelWord = /\b(trace|debug|info|notice|warn|warning|error|err|fatal|critical)\b/i;

function levelOf(text: string): Level {
  const start = text.slice(0, levelWithin);
  // In JSON logs: "level":"warn", or pino's numbers.
  const number = /"level":\s*(\d{2})\b/.exec(start)?.[1];
  if (number !== undefined)
    return number >= '50' ? 'error' : number >= '40' ? 'warn' : number >= '30' ? 'info' : 'debug';
  const word = (/"level":\s*"(\w+)"/i.exec(start) ?? levelWord.exec(start))?.[1];
  return levels[word?.toLowerCase() ?? ''] ?? 'info';
}
