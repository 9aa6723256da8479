import { conflict } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import type { RequiredSignIn } from '@toolhive/contract/workload';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { rejection } from '../supervision/run-loop.ts';
import type { Supervisor } from '../supervision/supervisor.ts';

/** What a remote server requires, without a page that is not on the web. */
export function describeSignIn({
  why,
  url,
  scope,
}: NonNullable<Supervisor['requiredSignIn']>): RequiredSignIn {
  const page = webPage(url);
  return {
    why,
    ...(page === undefined ? {} : { url: page }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/**
 * Starts a sign-in to a workload's remote server, or joins the running one. Returns the page as soon as it is known,
 * or undefined if the server accepts the workload in the meantime. Throws why no page is available.
 */
export async function startSignIn(
  core: WorkloadsWing,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const supervisor = core.workloads.require(name);
  const required = supervisor.requiredSignIn;
  if (required === undefined) {
    throw conflict(
      `workload ${name} is not waiting for a sign-in`,
      advice(`if its remote server refuses it, restart it: thv restart ${name}`, fixes.restart(name)),
    );
  }
  const auth = supervisor.live.remote;
  const page = auth === undefined ? await restarted(supervisor, signal) : await pageOf(auth, signal);
  if (page === undefined) return undefined;
  const checked = webPage(page);
  if (checked === undefined)
    throw conflict(`the sign-in page of workload ${name} is not an http or https URL`);
  return checked;
}

/** The user requested this sign-in, so it may start at any time. It continues when the caller leaves. */
async function pageOf(
  auth: NonNullable<Supervisor['live']['remote']>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const agreed = auth.authorize();
  agreed.catch(() => {}); // the workload's status reports the result
  return Promise.race([auth.page, agreed.then(() => undefined), rejection(signal)]);
}

/** Starts a workload that failed, which asks the user to sign in. */
async function restarted(supervisor: Supervisor, signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const over = new AbortController();
  await supervisor.start();
  const followed = supervisor.follow(
    () => {
      const url = supervisor.requiredSignIn?.url;
      if (url !== undefined) resolve(url);
    },
    AbortSignal.any([signal, over.signal]),
  );
  followed.catch(() => {}); // the caller that receives the page does not need the result
  try {
    return await Promise.race([promise, followed.then(() => undefined)]);
  } finally {
    over.abort();
  }
}

function webPage(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:$/.test(URL.parse(url)?.protocol ?? '') ? url : undefined;
}
