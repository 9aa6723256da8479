import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { chromiumOptions } from '@toolhive/testing/machine';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the browser that the files of a suite share. */
    uiBrowser: string;
  }
}

/** Starts one browser for all files whose pages share a process, because each start takes a second of a processor. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const args = [...chromiumOptions.args, '--process-per-site'];
  const browser = await chromium.launchServer({ ...chromiumOptions, args });
  project.provide('uiBrowser', browser.wsEndpoint());
  return () => browser.close();
}
