import { invalid } from '@toolhive/contract/failure';

/** A secret by its name, and the environment variable of a server that receives it. */
export interface SecretReference {
  name: string;
  target: string;
}

const pattern = /^([^,]+),target=(.+)$/;

export const isReference = (text: string): boolean => pattern.test(text);

/** Reads `NAME,target=VARIABLE`. */
export function parseReference(text: string): SecretReference {
  const [, name, target] = pattern.exec(text) ?? [];
  if (name !== undefined && target !== undefined) return { name, target };
  // The text is not repeated: somebody may have written the secret itself.
  throw invalid('a secret is not given as NAME,target=VARIABLE', {
    hint: 'name a stored secret, as in github-token,target=GITHUB_TOKEN',
  });
}

/** Writes what `parseReference` reads. */
export function formatReference({ name, target }: SecretReference): string {
  return `${name},target=${target}`;
}
