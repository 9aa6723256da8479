import type { Client } from '@toolhive/contract/client';
import { invalid } from '@toolhive/contract/failure';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import { printable } from '@toolhive/contract/printable';
import { riskNames } from '@toolhive/contract/risk';
import type { CreateWorkload, Workload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import type { Page } from '../../out.ts';
import { shownWorkload } from '../endpoint.ts';
import { showPermissions } from '../network/permissions.ts';
import { credentialWarning, withStoredCredentials } from '../pasted/credentials.ts';
import { provenanceText } from '../provenance.ts';
import { readJsonObject } from './assignments.ts';
import { unreachableServices } from '@toolhive/pasted/local-services';
import { askedFor, namingPackages, unreachablePaths, withFlags } from './asked.ts';
import { withBundleConfig } from './bundle-config.ts';
import { findCatalogued } from './catalogued.ts';
import { withClientSecrets } from './client-secrets.ts';
import { withConsent } from './consent.ts';
import { withChosenProfile } from './default-network.ts';
import { namingFlags, requestFrom } from './request.ts';
import { withNeeds } from './requirements.ts';
import { cleanUp, stayWith } from './stay.ts';
import { StoredSecrets } from './stored-secrets.ts';
import { isForCluster } from '../cluster/cluster.ts';

/** Runs a server. Returns when clients can reach it, or, in the foreground, when the user ends it. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, signal } = call;
  if (isForCluster(call.flags)) return (await import('../cluster/run.ts')).run(call);
  const file = flags.text('from-config');
  if (file !== undefined) refuseOthers(call);
  else if (call.arguments.length === 0 && call.rest.length === 0) {
    throw invalid('SOURCE is missing', { hint: 'specify a registry entry, a package, an image, or a URL' });
  }
  const daemon = await call.client();
  const name = await (file === undefined
    ? runAsked(call, daemon)
    : create(call, daemon, await readRunConfig(file, flags)));
  if (flags.has('dry-run')) return;
  const details = await daemon.getWorkload({ params: { name } }, { signal });
  const workload = shownWorkload(details);
  if (details.provenance !== undefined) out.note(`note: provenance: ${provenanceText(details.provenance)}`);
  for (const note of await notesAbout(workload, daemon, signal)) out.note(`note: ${note}`);
  const isForeground = flags.has('foreground');
  (isForeground ? out.record : out.result)(workload, `${name} runs at ${workload.url}`);
  if (!isForeground) return;
  await stayWith(name, { daemon, out, signal }, async (limit) => {
    await remove(daemon, name, limit);
    out.note(`removed ${name}`);
  });
}

/** What to know before the workload is used. The limits of the machine are left out if they were shown before. */
async function notesAbout(
  { name, warnings = [] }: Pick<Workload, 'name' | 'warnings'>,
  daemon: Client,
  signal: AbortSignal,
): Promise<string[]> {
  const { settings } = await daemon.listSettings({}, { signal });
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true' } }, { signal });
  const shown = new Set(workloads.flatMap((other) => (other.name === name ? [] : (other.limits ?? []))));
  return [
    ...settings.flatMap((setting) => setting.problem ?? []),
    ...warnings.filter((warning) => !shown.has(warning)),
  ];
}

async function runAsked(call: CommandCall, daemon: Client): Promise<string> {
  const {
    arguments: [word],
    flags,
    out,
    signal,
  } = call;
  const { request: pasted, notes, needs = [] } = await askedFor(call, daemon);
  const entry =
    pasted.image === undefined ? undefined : await findCatalogued(pasted.image, { daemon, signal });
  const kind = pasted.url !== undefined || entry?.isRemote === true ? 'remote' : 'local';
  if (kind === 'remote' && pasted.cmd_arguments?.length) {
    throw invalid('a remote server takes no arguments', {
      hint: 'omit the arguments after --',
    });
  }
  for (const note of notes) out.note(`note: ${note}`);
  await using secrets = new StoredSecrets(daemon, { out, signal });
  const own = await requestFrom(flags, kind);
  const isWanted = flags.has('store-secrets');
  // Only in pasted text: the user who types --env can type --secret instead.
  const safe = await withStoredCredentials(
    { ...pasted, name: own.name ?? pasted.name },
    { secrets, isWanted, out, signal },
  );
  const asked = withFlags(safe, own);
  const asking = { daemon, out, signal };
  const filled =
    needs.length === 0
      ? asked
      : await withNeeds(asked, { name: asked.name ?? 'server', isRemote: kind === 'remote', needs }, asking);
  const needed = entry === undefined ? filled : await withNeeds(filled, entry, asking);
  const isBundle = entry?.isBundle === true || needed.image?.startsWith('mcpb://') === true;
  const configured = await withBundleConfig(needed, { isBundle, secrets, flags, ...asking });
  const request = await withClientSecrets(configured, flags, secrets);
  for (const note of [...unreachablePaths(request), ...unreachableServices(request)]) {
    out.note(`note: ${note}`);
  }
  try {
    // Awaited here, because stored secrets may be removed at the end.
    const name = await withChosenProfile(request, signal, (complete) =>
      create(call, daemon, complete, (is) => secrets.keep(is)),
    );
    const warning = credentialWarning({ ...safe, name });
    if (warning !== undefined) out.note(`note: ${warning}`);
    return name;
  } catch (thrown) {
    throw namingPackages(thrown, entry === undefined ? word : undefined);
  }
}

/** Creates the workload and waits until it runs, after the user has consented to dangerous access. */
function create(
  call: CommandCall,
  daemon: Client,
  body: CreateWorkload | Record<string, unknown>,
  isThere?: (is: boolean) => void,
): Promise<string> {
  return withConsent(body, call, (accepted) => attempt(call, daemon, accepted, isThere));
}

/**
 * Creates the workload and waits until it runs. Removes the workload after an interruption. A dry run only checks the
 * request.
 */
async function attempt(
  { flags, out, signal }: CommandCall,
  daemon: Client,
  body: CreateWorkload | Record<string, unknown>,
  /** Told whether there is a workload, running or not. */
  isThere: (is: boolean) => void = () => {},
): Promise<string> {
  let begun: string | undefined;
  try {
    if (flags.has('dry-run')) {
      const check = await daemon.checkWorkload({ body, query: {} }, { signal });
      out.result(check, (page) => showCheck(page, check));
      return check.name;
    }
    const { name } = await daemon.createWorkload(
      { body },
      {
        signal,
        onProgress: out.progress,
        onAccepted: (answer) => {
          begun = (answer as { name: string }).name; // the operation's result
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

/** Prints the workload that a request would create. */
function showCheck(
  page: Page,
  { name, package: source, remote, permissions, notes = [], risks }: WorkloadCheck,
): void {
  page.line(`Name: ${name}`);
  page.line(`${remote ? 'Remote server' : 'Source'}: ${printable(source)}`);
  for (const note of notes) page.line(printable(note));
  if (permissions !== undefined) showPermissions(page, permissions);
  for (const { text } of risks) page.line(`Dangerous: ${printable(text)}`);
  if (risks.length > 0)
    page.line('thv run asks for your consent to dangerous access, or takes --accept-risks.');
}

async function remove(daemon: Client, name: string, signal: AbortSignal): Promise<void> {
  await daemon.deleteWorkload({ params: { name } }, { signal, onProgress: () => {} });
}

/** A run config contains every setting except consent. The other flags control the output. */
const besideRunConfig = ['from-config', 'accept-risks', 'dry-run', 'format', 'debug'];

function refuseOthers({ arguments: words, flags, rest }: CommandCall): void {
  const others = flags.given().filter((name) => !besideRunConfig.includes(name));
  const found = [
    ...others.map((name) => `--${name}`),
    ...(words.length > 0 ? ['SOURCE'] : []),
    ...(rest.length > 0 ? ['arguments'] : []),
  ];
  if (found.length === 0) return;
  throw invalid(`--from-config cannot be used together with ${found.join(', ')}`, {
    hint: 'change the file instead',
  });
}

async function readRunConfig(file: string, flags: CommandCall['flags']): Promise<Record<string, unknown>> {
  const { runConfigVersion } = await import('@toolhive/contract/run-config');
  // Files from earlier versions of the original have no version. A file cannot give consent, because another person
  // may have written it.
  const { accepted_risks: _, ...runConfig } = await readJsonObject(file, '--from-config');
  const accepted_risks = flags.has('accept-risks') ? riskNames : [];
  return { schema_version: runConfigVersion, ...runConfig, accepted_risks };
}
