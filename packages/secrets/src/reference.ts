import { invalid } from '@toolhive/contract/failure';

/** A secret's name, and the environment variable of a server that receives its value. */
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
  // The error does not quote the text, because it may be the secret itself.
  throw invalid('a secret must have the form NAME,target=VARIABLE', {
    hint: 'specify a stored secret, for example github-token,target=GITHUB_TOKEN',
  });
}

/** The inverse of `parseReference`. */
export function formatReference({ name, target }: SecretReference): string {
  return `${name},target=${target}`;
}
