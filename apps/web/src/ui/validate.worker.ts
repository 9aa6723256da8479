import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';

/** What is wrong with a value, by JSON pointer. */
export type Problems = Record<string, string>;

// Patterns of a schema come from a server and can take forever, so they never run where they could block the page.
self.addEventListener('message', ({ data }: MessageEvent<{ schema: Schema; value: unknown }>) => {
  const { errors } = new Validator(data.schema, '2020-12', false).validate(data.value);
  const problems: Problems = {};
  // The innermost errors are the ones that tell what to change.
  for (const { instanceLocation, keyword, error } of errors) {
    if (keyword === 'properties' || keyword === 'items' || keyword === '$ref') continue;
    problems[instanceLocation.slice(1)] ??= error;
  }
  self.postMessage(problems);
});
