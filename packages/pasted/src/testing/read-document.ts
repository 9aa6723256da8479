import type { ImportPreview } from '@toolhive/contract/preview';
import { previewImport } from '../import.ts';

/** The import preview of a configuration with these servers. */
export async function previewOf(document: object): Promise<ImportPreview['servers']> {
  return (await previewImport(JSON.stringify(document))).servers;
}
