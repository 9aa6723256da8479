import { X509Certificate } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import { VariableName } from '@toolhive/contract/names';
import type { SettingValue } from '@toolhive/contract/setting';
import type { SettingKind } from '@toolhive/contract/settings';
import { readBoundedFile } from '../files.ts';

/** Parses a value of this kind. Throws `invalid` with the expected form. */
type Reader = (value: SettingValue) => SettingValue;

/** The parsers for each kind. Values in `config.yaml` and values from callers use the same parsers. */
export const readers: Record<SettingKind, Reader> = {
  boolean(value) {
    if (typeof value === 'boolean') return value;
    if (/^(1|t|true)$/i.test(String(value))) return true;
    if (/^(0|f|false)$/i.test(String(value))) return false;
    throw wrong(value, 'true or false');
  },
  rate(value) {
    const rate = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof rate === 'number' && rate >= 0 && rate <= 1) return rate;
    throw wrong(value, 'a number from 0.0 to 1.0');
  },
  endpoint(value) {
    const text = textOf(value);
    if (/^[a-z]+:\/\//i.test(text)) {
      throw invalid(`${JSON.stringify(text)} begins with a scheme`, {
        hint: 'use the form HOST:PORT. The setting otel-insecure selects http or https',
      });
    }
    const [, port] = /^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/.exec(text) ?? [];
    if (port !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return text;
    throw wrong(value, 'HOST:PORT, such as collector.example.com:4318');
  },
  variables(value) {
    const names = (Array.isArray(value) ? value : String(value).split(',')).map((name) => name.trim());
    const isEach = names.every((name) => VariableName.safeParse(name).success);
    if (names.length > 0 && isEach) return names;
    throw wrong(value, 'names of environment variables with commas between');
  },
  certificate(value) {
    const path = textOf(value);
    if (isAbsolute(path)) return path;
    throw wrong(value, 'the absolute path of a file');
  },
  sources(value) {
    const sources = (Array.isArray(value) ? value : String(value).split(',')).map((source) => source.trim());
    const isEach = sources.every((source) => /^[a-z0-9][a-z0-9.-]*(?::\d+)?(?:\/[\w.~-]+)+$/i.test(source));
    if (sources.length > 0 && isEach) return sources;
    throw wrong(value, 'a list of sources such as github.com/example/library, separated by commas');
  },
  network(value) {
    if (value === 'public' || value === 'none' || value === 'ask') return value;
    throw wrong(value, 'public, none, or ask');
  },
  hours(value) {
    const hours = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof hours === 'number' && hours >= 0 && hours <= 8_760) return hours;
    throw wrong(value, 'a number of hours from 0 to 8760');
  },
  registry: textOf,
};

function textOf(value: SettingValue): string {
  if (typeof value === 'string' && value !== '') return value;
  throw wrong(value, 'a text');
}

function wrong(value: SettingValue, what: string): Error {
  return invalid(`${JSON.stringify(value)} is not ${what}`);
}

/** Larger than any realistic certificate bundle. */
const maxBytes = 1_000_000;

/** The certificates in a file. Throws `invalid` if it contains no usable certificates. */
export async function readCertificates(path: string): Promise<string> {
  const what = `the certificate ${path}`;
  const limits = {
    maxBytes,
    notAFile: () => invalid(`${what} is not a file`),
    tooLarge: () => invalid(`${what} is larger than a megabyte`),
  };
  const bytes = await readBoundedFile(path, limits).catch((cause: unknown) => {
    if (cause instanceof ThvError) throw cause;
    throw invalid(`${what} cannot be read: ${messageOf(cause)}`, { cause });
  });
  return checkedCertificates(bytes.toString(), what);
}

/** Only the certificates of a PEM text. */
export function checkedCertificates(text: string, what: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    throw invalid(`${what} has no PEM certificate`, {
      hint: 'a PEM certificate begins with -----BEGIN CERTIFICATE-----',
    });
  }
  for (const block of blocks) {
    try {
      void new X509Certificate(block);
    } catch (cause) {
      throw invalid(`${what} is damaged: ${messageOf(cause)}`, { cause });
    }
  }
  return `${blocks.join('\n')}\n`;
}
