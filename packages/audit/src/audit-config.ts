import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { auditedCallTypes } from '@toolhive/contract/audit';
import { invalid, messageOf } from '@toolhive/contract/failure';
import { AuditConfig } from '@toolhive/contract/observation';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { AuditOptions, AuditedCalls } from '@toolhive/proxy/audit';
import { requireLogFile } from './audit-file.ts';
import type { AuditLog } from './audit-log.ts';

/** The default size limit for recorded bodies. */
const defaultBytes = 1024;
const maxConfigBytes = 64 * 1024;

/** Throws `invalid` for an audit configuration that would silently record less than the user expects. */
export function checkAuditConfig({ audit_config: config, audit_config_path: path }: RunConfig): void {
  if (path !== undefined && path !== '' && !isAbsolute(path))
    throw invalid(`audit_config_path ${path} is not an absolute path`);
  if (config) check(config);
}

function check({ event_types: included, exclude_event_types: excluded, log_file: file }: AuditConfig): void {
  const known: readonly string[] = auditedCallTypes;
  const unknown = [...(included ?? []), ...(excluded ?? [])].find((type) => !known.includes(type));
  if (unknown !== undefined) {
    throw invalid(`unknown audit event type ${JSON.stringify(unknown)}`, { hint: `use ${known.join(', ')}` });
  }
  if (file === undefined || file === '') return;
  if (!isAbsolute(file)) throw invalid(`log_file ${file} is not an absolute path`);
  // Records contain text from clients. A new file with another name could be one that a shell or a scheduler executes.
  if (!/[^/.][^/]*\.(?:log|json|jsonl|ndjson)$/.test(file)) {
    throw invalid(`log_file ${file} does not have the name of a log file`, {
      hint: 'use a name that ends with .log, .json, .jsonl, or .ndjson',
    });
  }
}

/** The part of an audit log that receives records. */
export type AuditSink = Pick<AuditLog, 'record' | 'recordDenial' | 'redaction' | 'localUser'>;

/**
 * A workload proxy's audit settings. Throws `invalid` if the configuration cannot be applied, and then the
 * proxy must not start.
 */
export async function auditOf(runConfig: RunConfig, log: AuditSink): Promise<AuditOptions> {
  const config = await configOf(runConfig);
  const file = config?.log_file || undefined;
  if (file !== undefined) await requireLogFile(file);
  for (const value of Object.values(runConfig.telemetry_config?.headers ?? {})) log.redaction.add(value);
  return {
    record: config === undefined ? (entry) => log.recordDenial(entry) : (entry) => log.record(entry, file),
    calls: config === undefined ? undefined : callsOf(config, runConfig.name),
    localUser: log.localUser,
    trustsProxyHeaders: runConfig.trust_proxy_headers === true,
  };
}

function callsOf(
  {
    component,
    event_types: included,
    exclude_event_types: excluded,
    include_request_data: requestData,
    include_response_data: responseData,
    max_data_size: maxBytes,
  }: AuditConfig,
  name: string,
): AuditedCalls {
  const isRecorded = (type: string): boolean => {
    if (type === 'sse_connection') return true; // as in the original, both lists are about other types
    return excluded?.includes(type) !== true && (!included?.length || included.includes(type));
  };
  return {
    component: component || name,
    isRecorded,
    requestData: requestData === true,
    responseData: responseData === true,
    maxBytes: maxBytes || defaultBytes,
  };
}

async function configOf({
  audit_config: config,
  audit_config_path: path,
}: RunConfig): Promise<AuditConfig | undefined> {
  if (config) return config;
  if (!path) return undefined;
  const what = `cannot read the audit configuration ${path}`;
  try {
    await using file = await open(path, 'r');
    if ((await file.stat()).size > maxConfigBytes)
      throw invalid(`the file is larger than ${maxConfigBytes} bytes`);
    const read = AuditConfig.safeParse(JSON.parse(await file.readFile('utf8')));
    if (!read.success)
      throw invalid(read.error.issues[0]?.message ?? 'the file is not an audit configuration');
    check(read.data);
    return read.data;
  } catch (error) {
    throw invalid(`${what}: ${messageOf(error)}`, {
      hint: 'fix the file, or restart without it',
      cause: error,
    });
  }
}
