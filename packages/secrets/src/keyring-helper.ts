// Without imports, because this module is part of the single executable's start, and the helper must be
// self-contained.

export type KeyringStep =
  | { step: 'set'; service: string; user: string; password: string }
  | { step: 'get' | 'delete'; service: string; user: string };

/** What is used of the native library. */
interface Library {
  AsyncEntry: new (
    service: string,
    user: string,
    options: object,
  ) => {
    setPassword(password: string): Promise<void>;
    getPassword(): Promise<string | null | undefined>;
    deleteCredential(): Promise<unknown>;
  };
}

/**
 * Executes the requests on its standard input, which other users cannot see, and writes the answers. It blocks its
 * whole process, so it runs in a separate one. Its source is passed to `node -e`, so it must not use anything from
 * outside.
 */
export async function keyringHelper(load: (library: string) => unknown): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer); // a stream of bytes
  const [library, steps] = JSON.parse(Buffer.concat(chunks).toString()) as [string, KeyringStep[]];
  try {
    const { AsyncEntry } = load(library) as Library;
    const answers: (string | null)[] = [];
    for (const step of steps) {
      const entry = new AsyncEntry(step.service, step.user, { linux: { store: 'secret-service' } });
      if (step.step === 'set') await entry.setPassword(step.password);
      if (step.step === 'delete') await entry.deleteCredential();
      answers.push(step.step === 'get' ? ((await entry.getPassword()) ?? null) : null);
    }
    process.stdout.write(JSON.stringify({ answers }));
  } catch (error) {
    process.stdout.write(JSON.stringify({ failure: (error as Error).message }));
  }
}

/** The native library inside the single executable. */
export const keyringAsset = 'keyring.node';
/**
 * The argument with which the single executable starts as the helper, because it cannot run a given source like
 * Node.js.
 */
export const keyringHelperWord = '--keyring-helper';
