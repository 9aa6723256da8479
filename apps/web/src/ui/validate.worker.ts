import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import { missing } from './missing.ts';

/** The problems of a value, by JSON pointer. */
export type Problems = Record<string, string>;

// Patterns of a schema come from a server and can take forever, so they never run where they could block the page.
self.addEventListener('message', ({ data }: MessageEvent<{ schema: Schema; value: unknown }>) => {
  const { errors } = new Validator(data.schema, '2020-12', false).validate(data.value);
  const problems: Problems = {};
  // The innermost errors name the values to change.
  for (const { instanceLocation, keyword, error } of errors) {
    if (keyword === 'properties' || keyword === 'items' || keyword === '$ref') continue;
    const absent = keyword === 'required' ? /property "(.*)"/s.exec(error)?.[1] : undefined;
    const pointer = instanceLocation.slice(1);
    if (absent === undefined) problems[pointer] ??= error;
    else problems[`${pointer}${jsonPointer([absent])}`] ??= missing;
  }
  self.postMessage(problems);
});
