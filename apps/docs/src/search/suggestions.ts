/** Searches that find something on this site, for as long as there are none of the reader's own. */
export const commonSearches = ['Quickstart', 'Run MCP servers', 'Secrets'] as const;
