import { open } from 'node:fs/promises';

/** One write, as the API server recorded the write. */
export interface AuditedWrite {
  verb: string;
  user: string;
  userAgent: string;
  /** The identity of the token, if the user is a service account. */
  credential?: string | undefined;
  /** When the API server received the request, as an RFC 3339 time with microseconds. */
  receivedAt: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  code: number;
}

interface AuditLine {
  verb: string;
  user: { username: string; extra?: Record<string, string[]> };
  requestReceivedTimestamp: string;
  userAgent?: string;
  objectRef?: { resource: string; namespace?: string; name?: string; subresource?: string };
  responseStatus?: { code: number };
}

/** Reads the audit log of an API server. Each call returns all writes so far, and reads only the lines since the last call. */
export function auditLog(path: string): () => Promise<AuditedWrite[]> {
  const writes: AuditedWrite[] = [];
  let position = 0;
  const read = async (): Promise<void> => {
    await using file = await open(path);
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - position), { position });
    const complete = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1;
    position += complete;
    const lines = buffer.toString('utf8', 0, complete).split('\n');
    for (const line of lines) if (line !== '') writes.push(writeIn(line));
  };
  let reading = Promise.resolve();
  return async () => {
    reading = reading.then(read);
    await reading;
    return [...writes];
  };
}

function writeIn(line: string): AuditedWrite {
  const {
    verb,
    user,
    userAgent = '',
    objectRef,
    responseStatus,
    requestReceivedTimestamp: receivedAt,
  } = JSON.parse(line) as AuditLine;
  return {
    verb,
    user: user.username,
    userAgent,
    credential: user.extra?.['authentication.kubernetes.io/credential-id']?.[0],
    receivedAt,
    code: responseStatus?.code ?? 0,
    ...(objectRef ?? { resource: '' }),
  };
}
