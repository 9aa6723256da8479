import includeLanguages from '@theme-original/prism-include-languages';
import { includeWhenNeeded, type Prism } from '../highlighter/highlighter.ts';

/** The theme does this before a page can be used, whether there is any code on it or not. */
// Docusaurus insists on a default export.
export default function prismIncludeLanguages(prism: typeof Prism): void {
  includeWhenNeeded(() => includeLanguages(prism));
}
