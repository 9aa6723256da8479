import { ThvError, invalid } from '@toolhive/contract/failure';
import type { ImportPreview } from '@toolhive/contract/preview';
import { readClientDocument } from './client-document.ts';
import { readInstallation } from './client-install.ts';
import { readClientEntry } from './client-entry.ts';
import type { PastedFrom } from './pasted.ts';

/** The document is external, so it can use neither the daemon's variables nor its files. */
const from: PastedFrom = {
  env: {},
  directory: undefined,
  readFile() {
    throw invalid('environment files are not supported here', { hint: 'add its variables to the server' });
  },
};

/** Converts a client's configuration, or an installation link. A problem with one server does not affect the others. */
export async function previewImport(document: string): Promise<ImportPreview> {
  const { entries, inputs } =
    readInstallation([document.trim()]) ?? readClientDocument(document, 'the document');
  const servers = entries.map(async (entry) => {
    const { name, workload, notes: named } = entry;
    try {
      const { request, notes, needs } = await readClientEntry(entry, { ...from, inputs });
      return {
        name: name === '' ? workload : name,
        request,
        notes,
        needs: needs.map(({ kind, name: need, description, secret, token }) => ({
          kind,
          name: need,
          description,
          secret,
          ...(token === undefined ? {} : { token }),
        })),
      };
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      const { message: problem, hint } = thrown;
      return {
        name: name === '' ? workload : name,
        notes: named,
        needs: [],
        problem,
        ...(hint === undefined ? {} : { hint }),
      };
    }
  });
  return { servers: await Promise.all(servers) };
}
