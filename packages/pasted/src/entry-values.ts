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
const Map = z
  .record(z.string(), Scalar.nullable())
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
