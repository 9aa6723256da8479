import { setTimeout as delay } from 'node:timers/promises';
import type { Diagnosis, DiagnosisLayer, Finding } from '@toolhive/contract/diagnosis';
import { ThvError, messageOf } from '@toolhive/contract/failure';
import type { Advice } from '@toolhive/contract/fix';

/** The findings of one layer. Empty if the layer does not apply. */
export type Found = Omit<Finding, 'layer'>;

/** Inspects one layer. A thrown error is the finding. */
export interface Check<Subject> {
  layer: DiagnosisLayer;
  /** The layers that must be in order before this one can be checked. */
  needs?: readonly DiagnosisLayer[];
  look: (subject: Subject, signal: AbortSignal) => Promise<Found[]> | Found[];
}

/** How long one layer may take. */
const limitMs = 30_000;

/** Looks at everything of a subject, one layer after the other. Never rejects but for the signal. */
export async function diagnose<Subject>(
  name: string,
  checks: readonly Check<Subject>[],
  subject: Subject,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const findings: Finding[] = [];
  for (const check of checks) {
    signal.throwIfAborted();
    const missing = check.needs?.find((layer) => isBroken(findings, layer));
    const found =
      missing === undefined
        ? await lookAt(check, subject, signal)
        : [skipped(`skipped because the *${missing}* check failed`)];
    findings.push(...found.map((one) => ({ layer: check.layer, ...one })));
  }
  return { subject: name, healthy: findings.every(({ state }) => state !== 'failed'), findings };
}

/** A layer whose check could not run does not satisfy its dependents either. */
function isBroken(findings: readonly Finding[], layer: DiagnosisLayer): boolean {
  return findings.some((finding) => finding.layer === layer && /^(failed|skipped)$/.test(finding.state));
}

async function lookAt<Subject>(
  check: Check<Subject>,
  subject: Subject,
  signal: AbortSignal,
): Promise<Found[]> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const late = delay(limitMs, [failed(`the check took longer than ${limitMs / 1000} seconds`)], {
    signal: either,
  });
  try {
    return await Promise.race([check.look(subject, either), late]);
  } catch (error) {
    signal.throwIfAborted();
    const { hint, fixes } = error instanceof ThvError ? error : noAdvice;
    return [failed(messageOf(error), hint === undefined ? undefined : { hint, fixes })];
  } finally {
    over.abort();
    await late.catch(() => {}); // the answer came first
  }
}

export function ok(says: string): Found {
  return { state: 'ok', says };
}

export function warning(says: string, about?: string | Advice): Found {
  return { state: 'warning', says, ...withAdvice(about) };
}

export function failed(says: string, about?: string | Advice): Found {
  return { state: 'failed', says, ...withAdvice(about) };
}

const noAdvice = { hint: undefined, fixes: [] };

function withAdvice(about: string | Advice | undefined): Pick<Finding, 'hint' | 'fixes'> {
  if (about === undefined || typeof about === 'string') return about === undefined ? {} : { hint: about };
  const { hint, fixes = [] } = about;
  return fixes.length === 0 ? { hint } : { hint, fixes: [...fixes] };
}

export function skipped(says: string): Found {
  return { state: 'skipped', says };
}
