import { existsSync } from 'node:fs';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { uiFilesIn } from '@toolhive/api/ui';
import type { ReadUiFile } from '@toolhive/api/ui';

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
  const folder = process.env['TOOLHIVE_UI'] ?? folders.find((path) => existsSync(`${path}/index.html.br`));
  return folder === undefined ? undefined : uiFilesIn(folder);
}
