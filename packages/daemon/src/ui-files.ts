import { existsSync } from 'node:fs';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { keptUiFilesIn, uiFilesIn } from '@toolhive/api/ui';
import type { ReadUiFile } from '@toolhive/api/ui';

/** Late enough not to delay the start of the workloads. */
const keepAfterMs = 5_000;

/** The files of the web UI: in the single executable, beside the bundle, or where the environment says. */
export function uiFiles(): ReadUiFile | undefined {
  if (isSea()) {
    const names = new Set(getAssetKeys());
    return async (name) => {
      const key = `ui/${name}`;
      return names.has(key) ? new Uint8Array(getRawAsset(key)) : undefined;
    };
  }
  // This code is in the bundle, or in a chunk in one of its directories.
  const folders = ['./ui', '../ui'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const given = process.env['TOOLHIVE_UI'];
  if (given !== undefined) return uiFilesIn(given);
  const folder = folders.find((path) => existsSync(`${path}/index.html.br`));
  return folder === undefined ? undefined : keptUiFilesIn(folder, keepAfterMs);
}
