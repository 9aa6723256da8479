import { invalid } from '@toolhive/contract/failure';
import { urlVariable } from '@toolhive/contract/registry';
import type { RegistryRemoteServer } from '@toolhive/contract/registry';

/** The entry's URL with the user's values, which cannot change the rest of the URL. */
export function filledUrl(
  { name, url, url_variables: variables = [] }: RegistryRemoteServer & { name: string },
  given: Readonly<Record<string, string>>,
): string {
  const valueOf = (variable: string): string | undefined =>
    Object.hasOwn(given, variable)
      ? given[variable]
      : variables.find((each) => each.name === variable)?.default;
  const used = variables.filter((variable) => url.includes(`{${variable.name}}`));
  const missing = used.filter((variable) => !valueOf(variable.name));
  if (missing.length > 0) {
    throw invalid(`${name} needs ${missing.map((variable) => variable.name).join(', ')}`, {
      hint: missing
        .map(
          (variable) =>
            `add --url-variable ${variable.name}=VALUE (${variable.description || 'a part of the URL'})`,
        )
        .join('; '),
    });
  }
  for (const variable of used) {
    const value = valueOf(variable.name) ?? '';
    const isChoice = variable.choices === undefined || variable.choices.includes(value);
    if (isChoice && /^[\w~-]+(?:\.[\w~-]+)*$/.test(value)) continue;
    throw invalid(`the value of ${variable.name} cannot be a part of the URL`, {
      hint:
        variable.choices === undefined
          ? 'use letters, digits, dots, and dashes'
          : `use ${variable.choices.join(', ')}`,
    });
  }
  return url.replaceAll(urlVariable, (_all, variable: string) => valueOf(variable) ?? '');
}
