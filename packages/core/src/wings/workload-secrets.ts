import { checkField } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { parseReference } from '@toolhive/secrets/reference';
import type { Secrets } from '@toolhive/secrets/secrets';
import { recordSecretAccess } from '@toolhive/audit/actions';
import type { AuditLog } from '@toolhive/audit/audit-log';

/** The secrets that a run config refers to, by the variable that receives each. */
export type SecretsOf = (runConfig: RunConfig) => Promise<Record<string, string>>;

/** Resolves the secrets for a check. Nothing is recorded, because no server receives them. */
export function secretResolver(secrets: Secrets): SecretsOf {
  return async (runConfig) => {
    const references = (runConfig.secrets ?? []).map(parseReference);
    const values = await Promise.all(
      references.map((reference, index) => checkField(`/secrets/${index}`, () => secrets.resolve(reference))),
    );
    return Object.fromEntries(references.map(({ target }, index) => [target, values[index] ?? '']));
  };
}

/** Resolves the secrets of a server that starts, and records each of them. */
export function auditedSecrets(secrets: Secrets, audit: AuditLog): SecretsOf {
  return async (runConfig) => {
    const references = (runConfig.secrets ?? []).map(parseReference);
    const workload = runConfig.name;
    const values = await Promise.allSettled(
      references.map((reference) =>
        readAudited(audit, { workload, secret: reference.name }, () => secrets.resolve(reference)),
      ),
    );
    const failed = values.find((value) => value.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return Object.fromEntries(
      references.map(({ target }, index) => {
        const value = values[index];
        return [target, value?.status === 'fulfilled' ? value.value : ''];
      }),
    );
  };
}

/** Reads a secret for a workload, and records that, but never the value. */
export async function readAudited(
  audit: AuditLog,
  { workload, secret }: { workload: string; secret: string },
  read: () => Promise<string>,
): Promise<string> {
  let outcome: 'success' | 'failure' = 'failure';
  try {
    const value = await read();
    outcome = 'success';
    return value;
  } finally {
    recordSecretAccess(audit, workload, secret, outcome);
  }
}
