import siteConfig from '@generated/docusaurus.config';
import { embeddedClient } from './embedded.ts';

/** Stands in for `algoliasearch/lite` wherever the site has search of its own; what it is called with says nothing to it. */
export function liteClient(): ReturnType<typeof embeddedClient> {
  return embeddedClient(siteConfig.baseUrl);
}
