import { bundleProgram, embeddedProgramFiles } from '@toolhive/runtime/embedded-bundle';
import type { Plugin } from 'esbuild';

/** Puts the texts of the embedded programs into a bundle, in place of the module that makes them. */
export const embeddedPrograms: Plugin = {
  name: 'embedded-programs',
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]runtime[/\\]src[/\\]embedded-program\.ts$/ }, () => {
      const texts = embeddedProgramFiles.map((file) => [file, bundleProgram(file).text]);
      const table = JSON.stringify(Object.fromEntries(texts));
      return { contents: `const texts = ${table};\nexport const embeddedProgram = (file) => texts[file];` };
    });
  },
};

/** The files that the embedded programs consist of, which a bundle does not list as its own. */
export const embeddedFiles = (): string[] => [
  ...new Set(embeddedProgramFiles.flatMap((file) => bundleProgram(file).inputs)),
];
