import { englishFor } from './related-words.ts';
import { nameTermsOf, termsOf } from './terms.ts';
import { tuning } from './tuning.ts';

/** A tool as a server lists it. Everything in it is untrusted. */
export interface SearchableTool {
  /** Unique among all tools. Tools with the same score are in the order of their IDs. */
  id: string;
  server: string;
  serverDescription?: string | undefined;
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  /** JSON Schema of the arguments. */
  inputSchema?: unknown;
  annotations?: unknown;
}

/** The terms of the fields that belong to one tool, in the order of `fields`. */
export function toolFieldsOf(tool: SearchableTool): string[][] {
  const description = textOf(tool.description).slice(0, tuning.maxFieldLength);
  const first = firstSentenceOf(description);
  const parameters = parametersOf(tool.inputSchema);
  return [
    nameTermsOf(tool.name.slice(0, tuning.maxName)),
    termsOf(textOf(tool.title).slice(0, tuning.maxFirstSentence)),
    translatedTermsOf(first),
    translatedTermsOf(description.slice(first.length)),
    termsOf(parameters.names.slice(0, tuning.maxFieldLength)),
    termsOf(parameters.descriptions.slice(0, tuning.maxFieldLength)),
    termsOf(parameters.values.slice(0, tuning.maxFieldLength)),
    hintsOf(tool.annotations),
  ];
}

/** The terms of a text, and the English ones for its Chinese words: queries are mostly English. */
function translatedTermsOf(text: string): string[] {
  return [text, ...englishFor(text)].flatMap(termsOf);
}

/** The terms of the remaining fields, which are the same for all tools on a server. */
export function serverFieldsOf({ server, serverDescription }: SearchableTool, siblings: string): string[][] {
  return [
    nameTermsOf(server.slice(0, tuning.maxName)),
    termsOf(textOf(serverDescription).slice(0, tuning.maxFieldLength)),
    termsOf(siblings),
  ];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function firstSentenceOf(description: string): string {
  const [sentence = ''] = /^.*?(?:[.!?。](?=\s|$)|\n|$)/su.exec(description) ?? [];
  return sentence.slice(0, tuning.maxFirstSentence);
}

interface Parameters {
  names: string;
  descriptions: string;
  /** The values to choose from. */
  values: string;
}

/** The parameters at the first two levels of a schema. */
function parametersOf(schema: unknown, depth = 0): Parameters {
  const names: string[] = [];
  const descriptions: string[] = [];
  const values: string[] = [];
  const { properties } = objectOf(schema);
  for (const [name, property] of Object.entries(objectOf(properties)).slice(0, 100)) {
    const { description, items, enum: choices } = objectOf(property);
    names.push(name.slice(0, tuning.maxName));
    descriptions.push(textOf(description).slice(0, tuning.maxFieldLength));
    values.push(...textsOf(choices), ...textsOf(objectOf(items)['enum']));
    if (depth > 0) continue;
    for (const part of [property, items]) {
      const inner = parametersOf(part, depth + 1);
      names.push(inner.names);
      descriptions.push(inner.descriptions);
      values.push(inner.values);
    }
  }
  return { names: names.join(' '), descriptions: descriptions.join(' '), values: values.join(' ') };
}

function textsOf(values: unknown): string[] {
  const listed: unknown[] = Array.isArray(values) ? values.slice(0, 100) : [];
  return listed.map((value) => textOf(value).slice(0, tuning.maxName));
}

const hints: Readonly<Record<string, string>> = {
  readOnlyHint: 'read only',
  destructiveHint: 'destructive',
  openWorldHint: 'external',
};

function hintsOf(annotations: unknown): string[] {
  return Object.entries(objectOf(annotations)).flatMap(([name, value]) =>
    value === true && Object.hasOwn(hints, name) ? termsOf(hints[name] ?? '') : [],
  );
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The names of all tools on each server. A tool alone has no siblings. */
export function namesByServer(tools: readonly SearchableTool[]): Map<string, string> {
  const names = new Map<string, string[]>();
  for (const { server, name } of tools) {
    const known = names.get(server);
    if (known === undefined) names.set(server, [name]);
    else known.push(name);
  }
  return new Map(
    [...names].map(([server, all]) => [
      server,
      all.length < 2 ? '' : all.join(' ').slice(0, tuning.maxFieldLength),
    ]),
  );
}
