import type { Client } from '@toolhive/contract/client';
import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { shownWorkload } from '../endpoint.ts';
import { readJsonObject } from './assignments.ts';
import { findCatalogued } from './catalogued.ts';
import { storeClientSecrets } from './client-secrets.ts';
import { namingFlags, requestFrom } from './request.ts';
import { withNeeds } from './requirements.ts';
import { sourceOf } from './source.ts';
import { cleanUp, stayWith } from './stay.ts';

/** Runs a server and returns when clients can reach it, or, in the foreground, when somebody ends it. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, signal } = call;
  const file = flags.text('from-config');
  if (file !== undefined) refuseOthers(call);
  else if (call.arguments.length === 0) {
    throw invalid('SOURCE is missing', { hint: 'name a registry entry, a package, an image or a URL' });
  }
  const daemon = await call.client();
  const name = await (file === undefined
    ? runAsked(call, daemon)
    : create(call, daemon, await readRunConfig(file)));
  const workload = shownWorkload(await daemon.getWorkload({ params: { name } }, { signal }));
  const { settings } = await daemon.listSettings({}, { signal });
  const problems = settings.flatMap((setting) => setting.problem ?? []);
  for (const warning of [...problems, ...(workload.warnings ?? [])]) out.note(`note: ${warning}`);
  const isForeground = flags.has('foreground');
  (isForeground ? out.record : out.result)(workload, `${name} runs at ${workload.url}`);
  if (!isForeground) return;
  await stayWith(name, { daemon, out, signal }, async (limit) => {
    await remove(daemon, name, limit);
    out.note(`removed ${name}`);
  });
}

async function runAsked(call: CommandCall, daemon: Client): Promise<string> {
  const {
    arguments: [word = ''],
    flags,
    rest,
    out,
    signal,
  } = call;
  const source = sourceOf(word);
  const entry = 'url' in source ? undefined : await findCatalogued(source.image, { daemon, signal });
  const kind = 'url' in source || entry?.isRemote === true ? 'remote' : 'local';
  if (kind === 'remote' && rest.length > 0) {
    throw invalid('a server that somebody else runs takes no arguments', {
      hint: 'leave out what stands behind --',
    });
  }
  const asked = { ...source, ...(await requestFrom(flags, kind)), cmd_arguments: [...rest] };
  const complete = entry === undefined ? asked : await withNeeds(asked, entry, { daemon, out, signal });
  await using stored = await storeClientSecrets(complete, { flags, signal, daemon });
  if (flags.isGiven('image-verification') && flags.text('image-verification') === 'warn') {
    out.note('note: signatures of images are not looked at yet');
  }
  // Awaited here, as what was stored may go when this ends.
  return await create(call, daemon, stored.request, stored.keep);
}

/** Creates the workload and waits until it runs. Nothing of it stays when that is interrupted. */
async function create(
  { flags, out, signal }: CommandCall,
  daemon: Client,
  body: CreateWorkload | Record<string, unknown>,
  /** Told whether there is a workload, running or not. */
  isThere: (is: boolean) => void = () => {},
): Promise<string> {
  let begun: string | undefined;
  try {
    const { name } = await daemon.createWorkload(
      { body },
      {
        signal,
        onProgress: out.progress,
        onAccepted: (answer) => {
          begun = (answer as { name: string }).name; // what the operation answers with
          isThere(true);
        },
      },
    );
    return name;
  } catch (thrown) {
    if (signal.aborted && begun !== undefined) {
      const name = begun;
      await cleanUp(name, out, (limit) => remove(daemon, name, limit));
      isThere(false);
    }
    throw namingFlags(thrown, flags);
  }
}

async function remove(daemon: Client, name: string, signal: AbortSignal): Promise<void> {
  await daemon.deleteWorkload({ params: { name } }, { signal, onProgress: () => {} });
}

/** A run config says everything; these only say how to show what happens. */
const besideRunConfig = ['from-config', 'format', 'debug'];

function refuseOthers({ arguments: words, flags, rest }: CommandCall): void {
  const others = flags.given().filter((name) => !besideRunConfig.includes(name));
  const found = [
    ...others.map((name) => `--${name}`),
    ...(words.length > 0 ? ['SOURCE'] : []),
    ...(rest.length > 0 ? ['arguments'] : []),
  ];
  if (found.length === 0) return;
  throw invalid(`--from-config cannot be given together with ${found.join(', ')}`, {
    hint: 'change the file instead',
  });
}

async function readRunConfig(file: string): Promise<Record<string, unknown>> {
  const { runConfigVersion } = await import('@toolhive/contract/run-config');
  // Files of earlier versions of the original have no version in them.
  return { schema_version: runConfigVersion, ...(await readJsonObject(file, 'the run config')) };
}
