import includeLanguages from '@theme-original/prism-include-languages';
import { includeWhenNeeded, type Prism } from '../highlighter/highlighter.ts';

/** The theme loads languages before a page is usable, even without code on the page. */
// Docusaurus insists on a default export.
export default function prismIncludeLanguages(prism: typeof Prism): void {
  includeWhenNeeded(() => includeLanguages(prism));
}
