import { setTimeout as delay } from 'node:timers/promises';
import type { Diagnosis, DiagnosisLayer, Finding } from '@toolhive/contract/diagnosis';
import { ThvError, messageOf } from '@toolhive/contract/failure';

/** What one layer turned out to be; nothing where it does not apply. */
export type Found = Omit<Finding, 'layer'>;

/** Looks at one layer. What it throws is what is wrong there. */
export interface Check<Subject> {
  layer: DiagnosisLayer;
  /** Layers without which there is no sense in looking at this one. */
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
        : [skipped(`there is no sense in it before the ${missing} is right`)];
    findings.push(...found.map((one) => ({ layer: check.layer, ...one })));
  }
  return { subject: name, healthy: findings.every(({ state }) => state !== 'failed'), findings };
}

/** A layer that could not be looked at is no ground for the next one either. */
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
  const late = delay(limitMs, [failed(`it took longer than ${limitMs / 1000} seconds`)], { signal: either });
  try {
    return await Promise.race([check.look(subject, either), late]);
  } catch (error) {
    signal.throwIfAborted();
    const hint = error instanceof ThvError ? error.hint : undefined;
    return [failed(messageOf(error), hint)];
  } finally {
    over.abort();
    await late.catch(() => {}); // the answer came first
  }
}

export function ok(says: string): Found {
  return { state: 'ok', says };
}

export function warning(says: string, hint?: string): Found {
  return { state: 'warning', says, ...(hint === undefined ? {} : { hint }) };
}

export function failed(says: string, hint?: string): Found {
  return { state: 'failed', says, ...(hint === undefined ? {} : { hint }) };
}

export function skipped(says: string): Found {
  return { state: 'skipped', says };
}
