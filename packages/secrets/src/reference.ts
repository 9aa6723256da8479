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

/** In a URL, the braces can be encoded. */
const place = /\$(?:\{|%7B)secret:([A-Za-z_]\w*)(?:\}|%7D)/gi;

/** The text that stands for the value of a secret in an argument or a URL. `target` is that of its reference. */
export function secretPlace(target: string): string {
  return `\${secret:${target}}`;
}

/** The targets of the secrets in a text. */
export function secretPlacesIn(text: string): string[] {
  return [...text.matchAll(place)].map(([, target = '']) => target);
}

/** The text with the values of its secrets, by their targets. Throws `invalid` if one is missing. */
export function withSecretValues(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(place, (_whole, target: string) => {
    if (Object.hasOwn(values, target)) return values[target] ?? '';
    throw invalid(`\${secret:${target}} refers to a secret that the workload does not have`, {
      hint: `add --secret NAME,target=${target}`,
    });
  });
}
