import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { shownWorkload } from '../endpoint.ts';
import { forEach, selectedNames } from './many.ts';
import { stayWith } from './stay.ts';

/** Gets workloads to run with one operation, and returns when they do, or, in the foreground, when one has ended. */
export async function startBy(
  operation: 'startWorkload' | 'restartWorkload',
  call: CommandCall,
): Promise<void> {
  const { flags, out, client, signal } = call;
  const names = await selectedNames(call);
  if (names.length === 0) out.note('There is nothing to start.');
  const [name] = names;
  const isForeground = flags.has('foreground');
  if (isForeground && names.length > 1) throw invalid('only one workload at a time can be in the foreground');
  const daemon = await client();
  const start = async (each: string) => {
    await daemon[operation]({ params: { name: each } }, { signal, onProgress: out.progress });
    return shownWorkload(await daemon.getWorkload({ params: { name: each } }, { signal }));
  };
  if (!isForeground || name === undefined) {
    return forEach(names, { what: 'started', out }, async (each) => {
      const { url } = await start(each);
      return { value: { url }, shown: `${each} runs at ${url}` };
    });
  }
  const workload = await start(name);
  out.record(workload, `${name} runs at ${workload.url}`);
  await stayWith(name, { daemon, out, signal }, async (limit) => {
    await daemon.stopWorkload({ params: { name } }, { signal: limit, onProgress: () => {} });
    out.note(`stopped ${name}`);
  });
}
