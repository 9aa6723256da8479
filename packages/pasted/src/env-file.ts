import { parse } from 'dotenv';

/** Reads a file of environment variables as editors and runtimes do: quotes, comments, `export`, and several lines. */
export function readDotenv(text: string): Record<string, string> {
  return parse(text.replace(/^\uFEFF/, ''));
}

/** Reads a file of `docker run --env-file`, which knows neither quotes nor comments after a value. */
export function readDockerEnv(text: string): Record<string, string> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^\s*([^\s#=][^=]*)=(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name.trim(), value]];
    }),
  );
}
