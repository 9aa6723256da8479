import * as z from 'zod';
import { wordsIn } from './words.ts';

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.bigint()]).transform(String);
/** Null is absent, in lists and maps too. */
export const Text = Scalar.nullish().transform((value) => value ?? undefined);
/** A text that some clients have in a list. */
export const OnlyText = z
  .union([Text, z.tuple([Scalar]).transform(([text]): string | undefined => text)])
  .transform((text) => text);
/** Some clients have all arguments in one text. */
export const Words = z
  .union([
    Scalar.transform((text) => wordsIn(text) ?? [text]),
    z.array(Scalar.nullable()).transform((words) => words.filter((word) => word !== null)),
  ])
  .nullish()
  .transform((words) => words ?? undefined);
export const Command = z
  .union([Scalar, z.array(Scalar.nullable()).transform((words) => words.filter((word) => word !== null))])
  .nullish();
/** JSON that its author forgot to quote, as for `OPENAPI_MCP_HEADERS`. */
const Json = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
  .transform((value) => JSON.stringify(value));
const Map = z
  .record(z.string(), z.union([Scalar, Json]).nullable())
  .transform((map) =>
    Object.entries(map).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  );
/** Some clients write `["NAME=value"]`, or a list of objects with a name and a value. */
const Pairs = z.array(
  z.union([
    z.null().transform(() => undefined),
    z.string().transform((text) => {
      const [name = ''] = text.split('=', 1);
      return [name, text.includes('=') ? text.slice(name.length + 1) : `\${${name}}`] as const;
    }),
    z
      .object({ name: z.string().nullish(), key: z.string().nullish(), value: Scalar.nullish() })
      .transform(({ name, key, value }) => {
        const written = name ?? key ?? '';
        return value === null ? undefined : ([written, value ?? `\${${written}}`] as const);
      }),
  ]),
);
export const Texts = z
  .union([Map, Pairs])
  .nullish()
  .transform((pairs): Record<string, string> =>
    Object.fromEntries((pairs ?? []).flatMap((pair) => (pair && pair[0] !== '' ? [pair] : []))),
  );

/** `Name: value`, as in HTTP, or the name of a client's variable. */
function headerIn(line: string): { name: string; value: string | undefined } {
  const [, name = line, value] = /^\s*([^:=\s]+)(?:\s*[:=]\s*|\s+)(.*)$/s.exec(line) ?? [];
  return { name: name.trim(), value };
}

/** The headers in a text: JSON, or a header in each line. */
function headersIn(text: string): unknown {
  if (!/^\s*\{/.test(text)) return text.split(/\r?\n/).filter((line) => line.trim() !== '');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Headers as a map, as `["Name: value"]`, as a list of objects, or as one text. Their names and values have no blanks around them. */
export const Headers = z
  .preprocess((value) => {
    const whole = typeof value === 'string' ? headersIn(value) : value;
    if (!Array.isArray(whole)) return whole;
    return whole.map((each: unknown) => (typeof each === 'string' ? headerIn(each) : each));
  }, Texts)
  .transform((headers) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.trim().replace(/\s*:$/, ''), value.trim()]),
    ),
  );
