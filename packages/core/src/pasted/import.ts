import { ThvError, invalid } from '@toolhive/contract/failure';
import type { ImportPreview } from '@toolhive/contract/preview';
import { readClientDocument } from './client-document.ts';
import { readClientEntry } from './client-entry.ts';
import type { PastedFrom } from './pasted.ts';

/** The document comes from somewhere else, so it sees no variables of the daemon and reads no files. */
const from: PastedFrom = {
  env: {},
  directory: '/',
  readEnvFile() {
    throw invalid('a file of variables cannot be read here', { hint: 'add its variables to the server' });
  },
};

/** Translates the configuration of a client. What is wrong with one server is no reason to leave out the others. */
export async function previewImport(document: string): Promise<ImportPreview> {
  const entries = readClientDocument(document, 'the document');
  const servers = [...entries].map(async ([name, entry]) => {
    try {
      const { request, notes, needs } = await readClientEntry(name, entry, from);
      return {
        name,
        request,
        notes,
        needs: needs.map(({ name: variable, description, secret }) => ({
          name: variable,
          description,
          secret,
        })),
      };
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      const { message: problem, hint } = thrown;
      return { name, notes: [], needs: [], problem, ...(hint === undefined ? {} : { hint }) };
    }
  });
  return { servers: await Promise.all(servers) };
}
