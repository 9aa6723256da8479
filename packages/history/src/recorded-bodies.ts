import { PassingMap } from '@toolhive/contract/passing';
import type { RecordedBody } from '@toolhive/contract/traffic';
import type { Redaction } from '@toolhive/audit/redaction';
import type { CallBodies } from '@toolhive/proxy/traffic';

/** How much of one body is recorded, and how much for one workload. */
export const bodyLimits = { max_body_bytes: 64 * 1024, max_total_bytes: 8 * 1024 * 1024 };

interface Bodies {
  request: RecordedBody;
  response: RecordedBody | undefined;
  bytes: number;
}

/** The bodies of the latest calls of one workload, in memory and without secrets. The oldest ones make room. */
export class RecordedBodies {
  readonly #redaction: Redaction;
  readonly #bodies = new PassingMap<number, Bodies>();
  #bytes = 0;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  has(id: number): boolean {
    return this.#bodies.has(id);
  }

  /** Those of a call, also without secrets that have become known since. */
  of(id: number): { request?: RecordedBody; response?: RecordedBody } {
    const { request, response } = this.#bodies.get(id) ?? {};
    return {
      ...(request === undefined ? {} : { request: this.#redaction.withoutSecrets(request) }),
      ...(response === undefined ? {} : { response: this.#redaction.withoutSecrets(response) }),
    };
  }

  keep(id: number, { request, response }: CallBodies): void {
    const recorded = {
      request: this.#recorded(request),
      response: response === undefined ? undefined : this.#recorded(response),
    };
    const bytes = sizeOf(recorded.request) + sizeOf(recorded.response);
    this.#bodies.set(id, { ...recorded, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#bodies.keys()) {
      if (this.#bytes <= bodyLimits.max_total_bytes) return;
      this.forget(oldest);
    }
  }

  forget(id: number): void {
    this.#bytes -= this.#bodies.get(id)?.bytes ?? 0;
    this.#bodies.delete(id);
  }

  clear(): void {
    this.#bodies.clear();
    this.#bytes = 0;
  }

  #recorded(text: string): RecordedBody {
    const bytes = Buffer.byteLength(text);
    if (bytes > bodyLimits.max_body_bytes) return { bytes };
    return { bytes, text: JSON.stringify(this.#redaction.clean(JSON.parse(text))) };
  }
}

function sizeOf(body: RecordedBody | undefined): number {
  return body?.text === undefined ? 0 : Buffer.byteLength(body.text);
}
