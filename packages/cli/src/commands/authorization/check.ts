import type { AuthorizationDecision } from '@toolhive/contract/authorization';
import { forbidden, invalid } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall, FlagValues } from '../../command.ts';
import type { Page } from '../../out.ts';
import { readAssignments } from '../workloads/assignments.ts';

/** Asks the daemon for the policies' decision. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const principal = flags.text('principal');
  if (principal === undefined)
    throw invalid('--principal is missing', {
      hint: 'specify the subject of a token, for example --principal ada',
    });
  const daemon = await client();
  const decision = await daemon.checkAuthorization(
    {
      params: { name },
      body: {
        principal,
        tool: flags.text('tool'),
        prompt: flags.text('prompt'),
        resource: flags.text('resource'),
        skill: flags.text('skill'),
        claims: valuesOf(flags, 'claim'),
        arguments: valuesOf(flags, 'argument'),
        annotations: valuesOf(flags, 'annotation') as Record<string, boolean>, // the daemon validates the value
      },
    },
    { signal },
  );
  out.result(decision, (page) => show(page, decision));
  if (!decision.allowed) throw forbidden(`the policies of ${name} deny the request`);
}

function show(page: Page, { allowed, policies, errors, warnings }: AuthorizationDecision): void {
  page.line(allowed ? 'allowed' : 'denied');
  for (const { id, policy } of policies) page.line(printable(`${id}: ${policy}`));
  for (const error of errors) page.line(printable(`error: ${error}`));
  if (policies.length === 0 && errors.length === 0) page.line('No policy allows the request.');
  for (const warning of warnings) page.line(printable(`warning: ${warning}`));
}

function valuesOf(flags: FlagValues, name: string): Record<string, unknown> {
  const texts = readAssignments(name, flags.list(name));
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, valueOf(text)]));
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
