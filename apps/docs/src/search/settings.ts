import { usePluginData } from '@docusaurus/useGlobalData';
import { pluginName } from './records.ts';

/** What the browser has to know of how the site is searched. */
export interface SearchData {
  /** From the index that comes with the site, or by a service. */
  mode: 'embedded' | 'hosted';
  /** Where readers tell that something should have been found. */
  missingResultsUrl: string;
}

/** How this site is searched. */
export function useSearchData(): SearchData {
  return usePluginData(pluginName) as SearchData; // what the plugin of that name has set
}
