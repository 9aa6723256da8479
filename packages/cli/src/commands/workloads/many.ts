import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { failureOf } from '../../report.ts';

/** The workloads of a command: the named ones, all, or those in a group. */
export async function selectedNames({
  arguments: names,
  flags,
  client,
  signal,
}: CommandCall): Promise<string[]> {
  const group = flags.text('group');
  const ways = [names.length > 0, flags.has('all'), group !== undefined].filter(Boolean).length;
  if (ways !== 1) {
    throw invalid(
      ways === 0 ? 'no workloads are selected' : 'names, --all and --group cannot be used together',
      {
        hint: 'specify workload names, --all, or --group GROUP',
      },
    );
  }
  if (names.length > 0) return [...new Set(names)];
  const daemon = await client();
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true', group } }, { signal });
  return workloads.map(({ name }) => name);
}

/** The result for one of several workloads, for programs and for people. */
interface Done {
  value?: object;
  shown: string;
}

/**
 * Runs an operation on several workloads at once, and reports the results in the order of the names. A failure does
 * not affect the others, and is thrown at the end. With `mayBeAbsent`, a workload that does not exist is only a note,
 * because its wanted state is reached.
 */
export async function forEach(
  names: readonly string[],
  { what, out, mayBeAbsent = false }: { what: string; out: CommandCall['out']; mayBeAbsent?: boolean },
  operate: (name: string) => Promise<Done>,
): Promise<void> {
  const failures: { name: string; failure: unknown }[] = [];
  await out.results(
    names.map(async (name) => {
      try {
        const { value, shown } = await operate(name);
        return { value: { name, done: true, ...value }, shown };
      } catch (failure) {
        if (mayBeAbsent && failure instanceof ThvError && failure.kind === 'not-found')
          out.note(failure.hint === undefined ? failure.message : `${failure.message} (${failure.hint})`);
        else failures.push({ name, failure });
        return { value: { name, done: false, error: failureOf(failure) } };
      }
    }),
  );
  if (failures.length === 0) return;
  if (names.length === 1) throw failures[0]?.failure;
  for (const { name, failure } of failures) out.note(`${name}: ${messageOf(failure)}`);
  const kinds = new Set(
    failures.map(({ failure }) => (failure instanceof ThvError ? failure.kind : undefined)),
  );
  const [kind] = kinds;
  const failed = failures.map(({ name }) => name).toSorted();
  const message = `${failed.length} of ${names.length} workloads could not be ${what}: ${failed.join(', ')}`;
  // Failures of one kind keep their exit code. Mixed failures have the general one.
  throw kinds.size === 1 && kind !== undefined
    ? new ThvError(kind, message)
    : new ThvError('unsupported', message);
}
