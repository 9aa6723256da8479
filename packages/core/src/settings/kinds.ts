import { X509Certificate } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import { VariableName } from '@toolhive/contract/names';
import type { SettingValue } from '@toolhive/contract/setting';
import type { SettingKind } from '@toolhive/contract/settings';
import { readBoundedFile } from '../state/files.ts';

/** Reads a value as its kind says. Throws `invalid` with what it should be. */
type Reader = (value: SettingValue) => SettingValue;

/** How values of each kind are read. What stands in `config.yaml` and what a caller sends are read in the same way. */
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
        hint: 'write HOST:PORT; whether that is https says otel-insecure',
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

/** Larger than any bundle of certificates that somebody needs. */
const maxBytes = 1_000_000;

/** The certificates in a file. Throws `invalid` when there are none, or nobody could use them. */
export async function readCertificates(path: string): Promise<string> {
  const what = `the certificate ${path}`;
  const limits = {
    maxBytes,
    notAFile: () => invalid(`${what} is no file`),
    tooLarge: () => invalid(`${what} is larger than a megabyte`),
  };
  const bytes = await readBoundedFile(path, limits).catch((cause: unknown) => {
    if (cause instanceof ThvError) throw cause;
    throw invalid(`${what} cannot be read: ${messageOf(cause)}`, { cause });
  });
  return checkedCertificates(bytes.toString(), what);
}

/** The certificates of a PEM text and nothing else of it. */
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
