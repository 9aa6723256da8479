import { differingSkill } from '@toolhive/access/skill-files';
import type { RecordedSkill } from '@toolhive/access/skill-files';
import type { PinRecords } from './records.ts';

/** Compares the files that clients read with the recorded entries of skills. */
export class SkillFileCheck {
  readonly #records: PinRecords;
  /** The files that were reported, because clients read files again and again. */
  readonly #reported = new Set<string>();

  constructor(records: PinRecords) {
    this.#records = records;
  }

  /** Returns the URI of the skill whose file differs. Versions that wait for approval count only with `withPending`. */
  differs(uri: string, digestsOf: () => readonly string[], withPending: boolean): string | undefined {
    return differingSkill(uri, this.#skills(withPending), digestsOf);
  }

  /** Whether a file has not been reported in this version of the records. */
  isNew(uri: string): boolean {
    const place = `${this.#records.version} ${uri.slice(0, 1_000)}`;
    if (this.#reported.size >= maxReported || this.#reported.has(place)) return false;
    this.#reported.add(place);
    return true;
  }

  *#skills(withPending: boolean): Generator<RecordedSkill> {
    for (const { kind, name, approved, pending } of this.#records.all()) {
      const versions = withPending && pending !== undefined ? [...approved, pending] : approved;
      if (kind === 'skill' && versions.length > 0)
        yield { uri: name, contents: () => versions.map(this.#records.contentOf) };
    }
  }
}

const maxReported = 1_000;
